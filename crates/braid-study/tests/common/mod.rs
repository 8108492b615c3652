//! What the tests share.

use braid_scenario::Source;
use braid_study::Study;

/// Two short paths and a TCP flow on the first: a run is quick.
pub(crate) const SMALL: &str = r#"
title = "small"
duration = "2s"
cc = ["lia", "olia"]

[link.b1]
rate = "4mbit"
delay = "5ms"
queue = "20p"
loss = "0.5%"

[link.b2]
rate = "2mbit"
delay = "10ms"
queue = "20p"

[connection.mp0]
kind = "mptcp"

[connection.mp0.subflow.sf1]
route = ["b1"]

[connection.mp0.subflow.sf2]
route = ["b2"]

[connection.bg0]
kind = "tcp"
cc = "reno"
route = ["b1"]
"#;

pub(crate) fn source() -> Source {
    Source { name: "small.toml".to_owned(), text: SMALL.to_owned() }
}

pub(crate) fn small() -> Study {
    Study::default().source(source())
}
