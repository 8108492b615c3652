//! Hashes the sources, so that stored results of another version can be recognised.

#[path = "../braid-results/source_hash.rs"]
mod source_hash;

fn main() {
    source_hash::write(&["src"]);
}
