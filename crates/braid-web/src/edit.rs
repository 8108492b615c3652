//! A scenario's text with some values changed.

use toml_edit::{DocumentMut, Item, Table, Value};

/// `toml` with the assignments of `set`, such as `link.b1.rate=20mbit`; comments and order stay.
///
/// # Errors
/// If the text is not TOML, or an assignment has no `=` or goes through something that is no table.
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
        let value = text.parse::<Value>().unwrap_or_else(|_| Value::from(text));
        table.insert(last, Item::Value(value));
    }
    Ok(document.to_string())
}

/// Whether the delay of that link is given as its round-trip time.
pub(crate) fn has_rtt(toml: &str, link: &str) -> bool {
    let document: Result<DocumentMut, _> = toml.parse();
    document
        .is_ok_and(|document| document.get("link").and_then(|links| links.get(link)?.get("rtt")).is_some())
}

#[cfg(test)]
mod tests {
    use super::edit;

    #[test]
    fn values_change_and_comments_stay() {
        let text = "# house\n[link.b1] # line\nrate = \"10mbit\"\n";
        let set = ["link.b1.rate=20mbit", "link.b1.loss=1%", "link.b2.ecn=true"].map(str::to_owned);
        let expected =
            "# house\n[link.b1] # line\nrate = \"20mbit\"\nloss = \"1%\"\n\n[link.b2]\necn = true\n";
        assert_eq!(edit(text, &set).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(edit("", &["x".to_owned()]).unwrap_err(), "`x` has no `=`");
        let error = edit("x = 1", &["x.y.z=1".to_owned()]).unwrap_err();
        assert_eq!(error, "`x.y.z=1`: what is before `y` is not a table");
        assert!(edit("x = ", &[]).unwrap_err().contains("TOML parse error"));
    }
}
