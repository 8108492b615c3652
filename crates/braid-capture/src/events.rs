//! A log of congestion control and scheduling: JSON text sequences (RFC 7464) in the form of qlog
//! (draft-ietf-quic-qlog-main-schema), one file per run. Its events are TCP's and MPTCP's, not QUIC's.
//!
//! `docs/results.md` describes every event.

use std::collections::BTreeMap;
use std::io::{self, Write};

use braid_scenario::model::{Connection, Kind, Scenario, Traffic};
use braid_sim::observe::{At, Event, LossCause, Metrics, Observer, ReductionCause, State};
use serde::Serialize;

/// URI of the events' definition, required by qlog.
pub const EVENT_SCHEMA: &str = "urn:braid:qlog:events:1";
const RECORD_SEPARATOR: u8 = 0x1e;

/// The first record of a file.
#[derive(Serialize)]
struct Header<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    title: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'a str; 1],
    common_fields: CommonFields<'a>,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Serialize)]
struct CommonFields<'a> {
    time_format: &'a str,
    reference_time: ReferenceTime<'a>,
}

#[derive(Serialize)]
struct ReferenceTime<'a> {
    clock_type: &'a str,
    epoch: &'a str,
}

/// Every other record.
#[derive(Serialize)]
struct Record<'a> {
    /// Milliseconds since the start of the run, to the nanosecond.
    time: f64,
    name: &'a str,
    group_id: &'a str,
    data: Data,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Subflow {
        state: &'static str,
    },
    Congestion {
        old: &'static str,
        new: &'static str,
    },
    Reduction {
        trigger: &'static str,
    },
    Undo {},
    Timer {
        timer_type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
    Lost {
        packet_number: u32,
        data_number: u32,
        trigger: &'static str,
    },
    Scheduled {
        first_data_number: u32,
        last_data_number: u32,
    },
    Sent {
        packet_number: u32,
        data_number: u32,
    },
    Request {
        request_number: u32,
        part: u32,
        bytes: u32,
    },
    Metrics(Changed),
}

/// Changed metrics.
#[derive(Default, Serialize)]
struct Changed {
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets_in_flight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
}

/// The log of a run.
pub struct EventLog<W: Write> {
    sink: W,
    connections: Vec<Connection>,
    /// Open subflows.
    subflows: BTreeMap<(usize, u32, usize), Subflow>,
    /// New data assigned to a subflow and not yet written: it comes packet by packet.
    scheduled: Option<(At, u32, u32)>,
    failure: Option<io::Error>,
}

struct Subflow {
    group: String,
    incarnation: u32,
    mss: u32,
    multipath: bool,
    metrics: Metrics,
}

impl Subflow {
    fn new(connection: &Connection, at: At) -> Self {
        let flow = match connection.traffic {
            Traffic::Poisson { .. } => format!(".{}", at.flow),
            _ => String::new(),
        };
        Self {
            group: format!("{}{flow}/{}", connection.name, connection.subflows[at.subflow].name),
            incarnation: at.incarnation,
            mss: connection.mss,
            multipath: connection.kind == Kind::Mptcp,
            metrics: Metrics::default(),
        }
    }
}

impl<W: Write> EventLog<W> {
    /// Begins the log of a run of `scenario`; `about` is its title.
    ///
    /// # Errors
    /// The sink's error.
    pub fn new(scenario: &Scenario, about: &str, sink: W) -> io::Result<Self> {
        let connections = scenario.connections.clone();
        let mut log = Self { sink, connections, subflows: BTreeMap::new(), scheduled: None, failure: None };
        log.record(&Header {
            file_schema: "urn:ietf:params:qlog:file:sequential",
            serialization_format: "application/qlog+json-seq",
            title: about,
            trace: Trace {
                vantage_point: VantagePoint { kind: "client" },
                event_schemas: [EVENT_SCHEMA],
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                },
            },
        })?;
        Ok(log)
    }

    /// The sink, complete.
    ///
    /// # Errors
    /// An error of the sink during the run.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_scheduled();
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.sink),
        }
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.sink.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.sink, record)?;
        self.sink.write_all(b"\n")
    }

    fn subflow(&mut self, at: At) -> &mut Subflow {
        let connection = &self.connections[at.connection];
        let key = (at.connection, at.flow, at.subflow);
        let subflow = self.subflows.entry(key).or_insert_with(|| Subflow::new(connection, at));
        if subflow.incarnation != at.incarnation {
            *subflow = Subflow::new(connection, at);
        }
        subflow
    }

    fn write(&mut self, at: At, name: &str, data: Data) {
        if self.failure.is_some() {
            return;
        }
        let group = std::mem::take(&mut self.subflow(at).group);
        let record = Record { time: at.time_ns as f64 / 1e6, name, group_id: &group, data };
        self.failure = self.record(&record).err();
        self.subflow(at).group = group;
    }

    fn write_scheduled(&mut self) {
        if let Some((at, first_data_number, last_data_number)) = self.scheduled.take() {
            self.write(at, "mptcp:data_scheduled", Data::Scheduled { first_data_number, last_data_number });
        }
    }

    /// New data is assigned to a subflow: consecutive data at the same time is one decision.
    fn schedule(&mut self, at: At, data: u32) {
        match &mut self.scheduled {
            Some((since, _, last)) if *since == at && *last + 1 == data => *last = data,
            _ => {
                self.write_scheduled();
                self.scheduled = Some((at, data, data));
            }
        }
    }

    fn metrics(&mut self, at: At, now: Metrics) {
        let subflow = self.subflow(at);
        let mss = u64::from(subflow.mss);
        let was = std::mem::replace(&mut subflow.metrics, now);
        let milliseconds = |us: u32| f64::from(us) / 1e3;
        let changed = Changed {
            congestion_window: (now.cwnd != was.cwnd).then(|| u64::from(now.cwnd) * mss),
            ssthresh: now
                .ssthresh
                .filter(|_| now.ssthresh != was.ssthresh)
                .map(|ssthresh| u64::from(ssthresh) * mss),
            bytes_in_flight: (now.in_flight != was.in_flight).then(|| u64::from(now.in_flight) * mss),
            packets_in_flight: (now.in_flight != was.in_flight).then_some(now.in_flight),
            smoothed_rtt: (now.srtt_us != was.srtt_us).then(|| milliseconds(now.srtt_us)),
            min_rtt: (now.min_rtt_us != was.min_rtt_us).then(|| milliseconds(now.min_rtt_us)),
            latest_rtt: (now.latest_rtt_us != was.latest_rtt_us).then(|| milliseconds(now.latest_rtt_us)),
        };
        self.write(at, "tcp:recovery_metrics_updated", Data::Metrics(changed));
    }
}

impl<W: Write> Observer for EventLog<W> {
    fn observe(&mut self, at: At, event: &Event) {
        if let Event::Sent(sent) = event
            && !sent.retransmission
            && !sent.reinjection
            && self.subflow(at).multipath
        {
            self.schedule(at, sent.data);
            return;
        }
        self.write_scheduled();
        let subflow = |state| ("tcp:subflow_state_updated", Data::Subflow { state });
        let (name, data) = match *event {
            Event::Opening { step: 0 } => subflow("opening"),
            Event::Opening { .. } => subflow("joining"),
            Event::Established => subflow("established"),
            Event::Closed => {
                self.write(at, "tcp:subflow_state_updated", Data::Subflow { state: "closed" });
                self.subflows.remove(&(at.connection, at.flow, at.subflow));
                return;
            }
            Event::Lost { packet, data, cause } => {
                let trigger = match cause {
                    LossCause::Later => "rack",
                    LossCause::Timeout => "retransmission_timeout",
                };
                ("tcp:packet_lost", Data::Lost { packet_number: packet, data_number: data, trigger })
            }
            Event::Reduction { cause } => {
                let trigger = match cause {
                    ReductionCause::Loss => "loss",
                    ReductionCause::Mark => "ecn",
                };
                ("tcp:congestion_episode_started", Data::Reduction { trigger })
            }
            Event::Undo => ("tcp:congestion_episode_undone", Data::Undo {}),
            Event::Timeout { rto_backoffs } => {
                ("tcp:timer_expired", Data::Timer { timer_type: "retransmission", count: Some(rto_backoffs) })
            }
            Event::Probe => ("tcp:timer_expired", Data::Timer { timer_type: "tail_loss_probe", count: None }),
            Event::State { from, to } => {
                ("tcp:congestion_state_updated", Data::Congestion { old: name_of(from), new: name_of(to) })
            }
            Event::Sent(sent) if sent.reinjection => {
                let data = Data::Sent { packet_number: sent.packet, data_number: sent.data };
                ("mptcp:data_reinjected", data)
            }
            Event::Sent(sent) if sent.retransmission => {
                let data = Data::Sent { packet_number: sent.packet, data_number: sent.data };
                ("tcp:packet_retransmitted", data)
            }
            Event::Request(request) => {
                let data = Data::Request {
                    request_number: request.number,
                    part: request.part,
                    bytes: request.bytes,
                };
                ("app:request_received", data)
            }
            Event::Metrics(now) => return self.metrics(at, now),
            Event::Answer { .. } | Event::Acknowledgement(_) | Event::Sent(_) => return,
        };
        self.write(at, name, data);
    }
}

fn name_of(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::Disorder => "disorder",
        State::Cwr => "cwr",
        State::Recovery => "recovery",
        State::Loss => "loss",
    }
}
