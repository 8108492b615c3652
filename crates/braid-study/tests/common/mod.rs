//! What the tests share.

use braid_scenario::Source;
use braid_study::Study;

pub(crate) use braid_testing::SMALL;

pub(crate) fn source() -> Source {
    Source { name: "small.toml".to_owned(), text: SMALL.to_owned() }
}

pub(crate) fn small() -> Study {
    Study::default().source(source())
}
