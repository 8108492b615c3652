//! Checks documents against the schemas of `docs/`.

use serde_json::Value;

/// # Panics
/// If the document violates `docs/NAME.schema.json`.
pub(crate) fn holds(name: &str, document: &Value) {
    let path = format!("{}/../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = compiler.compile(&path, &mut schemas).unwrap_or_else(|error| panic!("{path}: {error:#}"));
    if let Err(error) = schemas.validate(document, schema) {
        panic!("{path}: {error:#}\n{document:#}");
    }
}
