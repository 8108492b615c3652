//! Hashes the sources, so that results can be told from those of another version.

#[path = "../braid-results/source_hash.rs"]
mod source_hash;

fn main() {
    source_hash::write();
}
