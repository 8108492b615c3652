//! Edits values in a scenario's text.

use braid_scenario::Source;
use indexmap::IndexMap;
use toml_edit::{DocumentMut, Item, Table, Value};

/// `toml` with the assignments of `set`, such as `link.b1.rate=20mbit`; comments and order stay.
///
/// # Errors
/// If the text is not TOML, or an assignment has no `=` or a path through a scalar.
pub fn edit(toml: &str, set: &[String]) -> Result<String, String> {
    let mut document: DocumentMut = toml.parse().map_err(|error| format!("{error}"))?;
    for assignment in set {
        let (path, text) = assignment.split_once('=').ok_or_else(|| format!("`{assignment}` has no `=`"))?;
        let mut keys: Vec<&str> = path.split('.').collect();
        let last = keys.pop().unwrap_or_default();
        let mut item: &mut Item = document.as_item_mut();
        for key in keys {
            let table = item
                .as_table_like_mut()
                .ok_or_else(|| format!("`{assignment}`: what is before `{key}` is not a table"))?;
            item = table.entry(key).or_insert(Item::Table(Table::new()));
        }
        let table =
            item.as_table_like_mut().ok_or_else(|| format!("`{assignment}`: `{path}` is not in a table"))?;
        table.insert(last, Item::Value(parsed(text)));
    }
    Ok(document.to_string())
}

/// The scenario of the first combination of parameters, with values in place of variables, so that each can be changed
/// separately; the same text if there are no parameters, or if it is invalid.
pub(crate) fn flat(source: &Source) -> String {
    let cells = braid_scenario::load(source, &[]).map(|file| file.cells).unwrap_or_default();
    match (cells.first(), source.text.parse::<DocumentMut>()) {
        (Some(cell), Ok(mut document)) if !cell.parameters.is_empty() => {
            document.remove("parameters");
            put(document.as_item_mut(), &cell.parameters);
            document.to_string()
        }
        _ => source.text.clone(),
    }
}

/// Replaces variables such as `$rate` by values.
fn put(item: &mut Item, values: &IndexMap<String, String>) {
    if let Item::Value(value) = item {
        put_value(value, values);
    } else if let Some(table) = item.as_table_like_mut() {
        table.iter_mut().for_each(|(_, item)| put(item, values));
    } else if let Some(tables) = item.as_array_of_tables_mut() {
        for table in tables.iter_mut() {
            table.iter_mut().for_each(|(_, item)| put(item, values));
        }
    }
}

fn put_value(value: &mut Value, values: &IndexMap<String, String>) {
    let named = |text: &str| values.get(text.strip_prefix('$')?);
    if let Some(text) = value.as_str().and_then(named) {
        *value = parsed(text);
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(|value| put_value(value, values));
    } else if let Some(table) = value.as_inline_table_mut() {
        table.iter_mut().for_each(|(_, value)| put_value(value, values));
    }
}

/// A number, a boolean or a list as such, all else as text.
fn parsed(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| text.into())
}

/// Whether the link's delay is given as a round-trip time.
pub(crate) fn has_rtt(toml: &str, link: &str) -> bool {
    let document: Result<DocumentMut, _> = toml.parse();
    document
        .is_ok_and(|document| document.get("link").and_then(|links| links.get(link)?.get("rtt")).is_some())
}

#[cfg(test)]
mod tests {
    use super::{Source, edit, flat};

    #[test]
    fn values_change_and_comments_stay() {
        let text = "# house\n[link.b1] # line\nrate = \"10mbit\"\n";
        let set = ["link.b1.rate=20mbit", "link.b1.loss=1%", "link.b2.ecn=true"].map(str::to_owned);
        let expected =
            "# house\n[link.b1] # line\nrate = \"20mbit\"\nloss = \"1%\"\n\n[link.b2]\necn = true\n";
        assert_eq!(edit(text, &set).unwrap(), expected);
    }

    #[test]
    fn every_scenario_is_the_same_without_its_parameters() {
        let mut several = 0;
        for scenario in braid_scenario::embedded() {
            let source = Source::embedded(scenario.name).unwrap();
            let text = flat(&source);
            let mut cells = braid_scenario::load(&source, &[]).unwrap().cells;
            let mut alone = braid_scenario::load(&Source { text, ..source }, &[]).unwrap().cells;
            assert_eq!(alone.len(), 1, "{}", scenario.name);
            several += usize::from(cells.len() > 1);
            cells[0].parameters.clear();
            alone[0].parameters.clear();
            assert_eq!(format!("{:?}", alone[0]), format!("{:?}", cells[0]), "{}", scenario.name);
        }
        assert!(several > 3);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(edit("", &["x".to_owned()]).unwrap_err(), "`x` has no `=`");
        let error = edit("x = 1", &["x.y.z=1".to_owned()]).unwrap_err();
        assert_eq!(error, "`x.y.z=1`: what is before `y` is not a table");
        assert!(edit("x = ", &[]).unwrap_err().contains("TOML parse error"));
    }
}
