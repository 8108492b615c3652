//! Each connection's events as qlog.

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};

/// Writes the events of one connection's sender to a file, in the time of the run.
pub(crate) struct ToFile {
    pub(crate) path: PathBuf,
    pub(crate) title: String,
    pub(crate) start: Instant,
}

impl QlogFactory for ToFile {
    fn for_connection(
        &self,
        _side: Side,
        _remote: SocketAddr,
        _initial: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        // A file that cannot be written was refused before the run began.
        let file = File::create(&self.path).ok()?;
        let mut config = QlogConfig::new(Box::new(BufWriter::new(file)));
        config.title(Some(self.title.clone())).start_time(self.start);
        Some(config)
    }
}
