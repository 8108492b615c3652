//! Each connection's events as qlog 0.3, which viewers read. The stack writes a newer draft
//! (draft-ietf-quic-qlog-main-schema-13), whose header qvis refuses and whose events have other names; their data have
//! the same form.

use std::fs::File;
use std::io::{self, BufWriter, Write};
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
        // The file was checked before the run began.
        let file = File::create(&self.path).ok()?;
        let mut config = QlogConfig::new(Box::new(Older { inner: BufWriter::new(file), record: Vec::new() }));
        config.title(Some(self.title.clone())).start_time(self.start);
        Some(config)
    }
}

/// Header fields of the newer draft, and their replacements in version 0.3. Times are from the start of the run.
const HEADER: [(&str, &str, &str); 3] = [
    ("\"file_schema\":\"", "\"", "\"qlog_version\":\"0.3\""),
    ("\"serialization_format\":\"", "\"", "\"qlog_format\":\"JSON-SEQ\""),
    ("\"reference_time\":{", "}", "\"time_format\":\"relative\",\"reference_time\":0"),
];

/// Events that have another category than `transport` or another name in version 0.3.
const EVENTS: [(&str, &str); 16] = [
    ("server_listening", "connectivity:server_listening"),
    ("connection_started", "connectivity:connection_started"),
    ("connection_closed", "connectivity:connection_closed"),
    ("connection_id_updated", "connectivity:connection_id_updated"),
    ("connection_state_updated", "connectivity:connection_state_updated"),
    ("spin_bit_updated", "connectivity:spin_bit_updated"),
    ("tuple_assigned", "connectivity:path_assigned"),
    ("mtu_updated", "connectivity:mtu_updated"),
    ("key_updated", "security:key_updated"),
    ("key_retired", "security:key_discarded"),
    ("recovery_parameters_set", "recovery:parameters_set"),
    ("recovery_metrics_updated", "recovery:metrics_updated"),
    ("congestion_state_updated", "recovery:congestion_state_updated"),
    ("timer_updated", "recovery:loss_timer_updated"),
    ("packet_lost", "recovery:packet_lost"),
    ("marked_for_retransmit", "recovery:marked_for_retransmit"),
];

/// Converts records of the newer draft to version 0.3.
struct Older<W> {
    inner: W,
    /// Converted part of the present record.
    record: Vec<u8>,
}

impl<W: Write> Older<W> {
    fn finish(&mut self) -> io::Result<()> {
        let record = String::from_utf8_lossy(&self.record);
        let older = older(&record);
        self.inner.write_all(older.as_bytes())?;
        self.record.clear();
        Ok(())
    }
}

impl<W: Write> Write for Older<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.record.extend_from_slice(bytes);
        // A record contains no newline.
        if bytes.ends_with(b"\n") {
            self.finish()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn older(record: &str) -> String {
    const NAME: &str = "\"name\":\"quic:";
    if let Some((before, rest)) = record.split_once(NAME)
        && let Some((name, after)) = rest.split_once('"')
    {
        let known = EVENTS.iter().find(|(newer, _)| *newer == name);
        let name = known.map_or_else(|| format!("transport:{name}"), |(_, older)| (*older).to_owned());
        return format!("{before}\"name\":\"{name}\"{after}");
    }
    let mut header = record.to_owned();
    for (begin, end, instead) in HEADER {
        if let Some((before, rest)) = header.split_once(begin)
            && let Some((_, after)) = rest.split_once(end)
        {
            header = format!("{before}{instead}{after}");
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Older;

    #[test]
    fn the_header_and_the_names_of_events_become_those_of_version_0_3() {
        let mut bytes = Vec::new();
        let mut older = Older { inner: &mut bytes, record: Vec::new() };
        let pieces = [
            "\u{1e}",
            "{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",",
            "\"title\":\"t\",\"trace\":{\"common_fields\":{\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}}",
            "\n",
            "\u{1e}{\"time\":1.5,\"name\":",
            "\"quic:recovery_metrics_updated\",\"data\":{}}",
            "\n",
            "\u{1e}{\"time\":2.0,\"name\":\"quic:packet_sent\",\"data\":{}}\n",
        ];
        for piece in pieces {
            older.write_all(piece.as_bytes()).unwrap();
        }
        let expected = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"t\",\"trace\":{\"common_fields\":\
            {\"time_format\":\"relative\",\"reference_time\":0}}}\n\
            \u{1e}{\"time\":1.5,\"name\":\"recovery:metrics_updated\",\"data\":{}}\n\
            \u{1e}{\"time\":2.0,\"name\":\"transport:packet_sent\",\"data\":{}}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
