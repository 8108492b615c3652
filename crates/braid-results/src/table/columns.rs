//! All tables and columns.

use super::column::{Column, always, column};
use super::layout::Table;
use super::row::Row;
use super::value::{Kind, Value};
use crate::measure::Transfer;
use crate::{OK, json};

/// All tables.
pub const TABLES: [&Table; 8] = [&RUNS, &FLOWS, &PERIODS, &LINKS, &SAMPLES, &QUEUES, &TRANSFERS, &DETECTIONS];

/// See [`runs`].
pub const RUNS: Table = Table { name: "runs", row: "a run", parts: &[RUN, TOTALS] };
/// See [`flows`].
pub const FLOWS: Table = Table {
    name: "flows",
    row: "a subflow, or a TCP connection",
    parts: &[RUN, CONNECTION, APPLICATION, SUBFLOW],
};
/// See [`periods`].
pub const PERIODS: Table = Table {
    name: "periods",
    row: "a subflow, or a TCP connection, in a period of the scenario",
    parts: &[RUN, PERIOD, CONNECTION, APPLICATION, SUBFLOW],
};
/// See [`links`].
pub const LINKS: Table = Table { name: "links", row: "a direction of a link", parts: &[RUN, LINK] };
/// See [`samples`].
pub const SAMPLES: Table =
    Table { name: "samples", row: "a subflow at a moment, every 100 ms of the run", parts: &[SAMPLE] };
/// See [`queues`].
pub const QUEUES: Table = Table {
    name: "queues",
    row: "a shared link, forward, at a moment, every 100 ms of the run",
    parts: &[QUEUE],
};

/// See [`transfers`].
pub const TRANSFERS: Table = Table {
    name: "transfers",
    row: "an object, a short flow, a burst, a response, or a write at a constant rate",
    parts: &[TRANSFER],
};

/// See [`detections`].
pub const DETECTIONS: Table = Table {
    name: "detections",
    row: "a subflow with a detector of shared bottlenecks, in a stretch of time in which the truth about it was the same",
    parts: &[DETECTION],
};

const RUN_NUMBER: Column = always(
    "run",
    Kind::Integer,
    "",
    "number of the run, from 0, in the order of `results.json`; joins the tables",
    |row| row.number.into(),
);

const RUN: &[Column] = &[
    RUN_NUMBER,
    always("scenario", Kind::Text, "", "embedded name, or path of the file as given", |row| {
        (&row.run.scenario).into()
    }),
    always("backend", Kind::Text, "", "where it ran: `sim`, `lab` or `host`", |row| {
        (&row.run.backend).into()
    }),
    always("cc", Kind::Text, "", "the congestion control that the run is about", |row| (&row.run.cc).into()),
    always("params", Kind::Text, "", "the scenario's parameters in this cell, a JSON object", |row| {
        json(&row.run.params).into()
    }),
    always("scheduler", Kind::Text, "", "the MPTCP packet scheduler", |row| (&row.run.scheduler).into()),
    always("seed", Kind::Unsigned, "", "the seed", |row| Value::Unsigned(row.run.seed)),
    always("duration_s", Kind::Real, "s", "length of the whole run", |row| row.run.duration_s.into()),
    always(
        "measured_s",
        Kind::Real,
        "s",
        "length of the part everything is measured over: without warm-up and cool-down",
        |row| row.run.measured_s.into(),
    ),
    always(
        "status",
        Kind::Text,
        "",
        "`ok`, or why there is no result; then nothing follows in this row",
        |row| (&row.run.status).into(),
    ),
];

const TOTALS: &[Column] = &[
    column("total_goodput_bps", Kind::Real, "bit/s", "payload delivered in order, all connections", |row| {
        (row.run.status == OK).then_some(row.run.metrics.total_goodput_bps).into()
    }),
    column(
        "detection_accuracy_percent",
        Kind::Real,
        "%",
        "time in which labels of shared bottlenecks were right, all subflows with a detector, whole run",
        |row| row.run.metrics.detection_accuracy_percent.into(),
    ),
    column("total_retransmissions", Kind::Integer, "packets", "sent again, all connections", |row| {
        (row.run.status == OK).then_some(row.run.metrics.total_retransmissions).into()
    }),
    column(
        "aggregate_benefit",
        Kind::Real,
        "",
        "of the first MPTCP connection, against its fair share of each path",
        |row| row.run.metrics.aggregate_benefit.into(),
    ),
    column(
        "aggregate_benefit_raw",
        Kind::Real,
        "",
        "of the first MPTCP connection, against the full capacity of each path",
        |row| row.run.metrics.aggregate_benefit_raw.into(),
    ),
];

const PERIOD: &[Column] = &[
    always("period", Kind::Text, "", "as the scenario gives it, such as `20s..40s`", |row| {
        row.period.map(|period| &period.id).into()
    }),
    always("from_s", Kind::Real, "s", "its beginning since the start of the run", |row| {
        row.period.map(|period| period.from_s).into()
    }),
    always("to_s", Kind::Real, "s", "its end; the figures that follow are of this stretch", |row| {
        row.period.map(|period| period.to_s).into()
    }),
];

const CONNECTION: &[Column] = &[
    column("connection", Kind::Text, "", "its key in the scenario", |row| {
        row.connection.map(|connection| &connection.id).into()
    }),
    column("kind", Kind::Text, "", "`mptcp` or `tcp`", |row| {
        row.connection.map(|connection| connection.kind.as_str()).into()
    }),
    column("connection_cc", Kind::Text, "", "the congestion control it used", |row| {
        row.connection.map(|connection| &connection.cc).into()
    }),
    column(
        "goodput_bps",
        Kind::Real,
        "bit/s",
        "payload handed to the application in order; the whole connection, over the measured time it was open",
        |row| row.connection.map(|connection| connection.goodput_bps).into(),
    ),
    column(
        "connection_throughput_bps",
        Kind::Real,
        "bit/s",
        "IP bytes that arrived, all its subflows",
        |row| row.connection.map(|connection| connection.throughput_bps).into(),
    ),
    column(
        "reinjections",
        Kind::Integer,
        "packets",
        "sent once more on another subflow; the whole connection",
        |row| row.connection.map(|connection| connection.reinjections).into(),
    ),
    column(
        "repeated_bytes",
        Kind::Integer,
        "bytes",
        "payload sent on a further subflow: reinjected, sent again because the receive window was full, or copies",
        |row| row.data_level().map(|data| data.repeated_bytes).into(),
    ),
    column(
        "opportunistic_retransmissions",
        Kind::Integer,
        "packets",
        "sent again on a faster subflow because the receive window was full",
        |row| row.data_level().map(|data| data.opportunistic_retransmissions).into(),
    ),
    column(
        "penalties",
        Kind::Integer,
        "",
        "congestion windows that the scheduler halved because the receive window was full",
        |row| row.data_level().map(|data| data.penalties).into(),
    ),
    column(
        "window_limited",
        Kind::Real,
        "",
        "share of the time during which the receive window kept data back while a subflow had room, 0 to 1",
        |row| row.data_level().map(|data| data.window_limited).into(),
    ),
    column(
        "out_of_order_delay_ms",
        Kind::Real,
        "ms",
        "how long packets waited for earlier ones at the receiver: mean of all",
        |row| row.data_level().and_then(|data| Some(data.out_of_order_delay_ms?.mean)).into(),
    ),
    column("out_of_order_delay_p95_ms", Kind::Real, "ms", "its 95 % quantile", |row| {
        row.data_level().and_then(|data| Some(data.out_of_order_delay_ms?.p95)).into()
    }),
    column("out_of_order_delay_p99_ms", Kind::Real, "ms", "its 99 % quantile", |row| {
        row.data_level().and_then(|data| Some(data.out_of_order_delay_ms?.p99)).into()
    }),
    column(
        "connection_benefit",
        Kind::Real,
        "",
        "aggregate benefit of an MPTCP connection, against its fair share of each path",
        |row| {
            row.connection
                .and_then(|connection| *row.metrics().aggregate_benefits.get(&connection.id)?)
                .into()
        },
    ),
];

const APPLICATION: &[Column] = &[
    column("traffic", Kind::Text, "", "pattern of its application; none for a bulk transfer", |row| {
        row.application().map(|application| &application.traffic).into()
    }),
    column(
        "transfers",
        Kind::Integer,
        "",
        "objects, short flows, bursts, responses or writes that began in the measured time",
        |row| row.application().map(|application| application.transfers as u64).into(),
    ),
    column(
        "unfinished_transfers",
        Kind::Integer,
        "",
        "those of them that were not complete at the end of the run",
        |row| row.application().map(|application| application.unfinished as u64).into(),
    ),
    column(
        "transfer_mean_ms",
        Kind::Real,
        "ms",
        "from the beginning of a transfer until its last byte was handed over in order: mean of the complete ones",
        |row| row.times().map(|times| times.mean).into(),
    ),
    column("transfer_p50_ms", Kind::Real, "ms", "its median", |row| {
        row.times().map(|times| times.p50).into()
    }),
    column("transfer_p95_ms", Kind::Real, "ms", "its 95 % quantile", |row| {
        row.times().map(|times| times.p95).into()
    }),
    column("transfer_p99_ms", Kind::Real, "ms", "its 99 % quantile", |row| {
        row.times().map(|times| times.p99).into()
    }),
    column("transfer_max_ms", Kind::Real, "ms", "the longest", |row| {
        row.times().map(|times| times.max).into()
    }),
    column(
        "deadline_misses",
        Kind::Integer,
        "",
        "transfers that were not complete at their deadline; none without one",
        |row| row.deadline().map(|deadline| deadline.missed as u64).into(),
    ),
    column(
        "deadline_misses_percent",
        Kind::Real,
        "%",
        "the same, of the transfers whose deadline was in the run or that were complete",
        |row| row.deadline().and_then(|deadline| deadline.missed_percent).into(),
    ),
];

const TRANSFER: &[Column] = &[
    RUN_NUMBER,
    always("connection", Kind::Text, "", "as in `flows`", |row| {
        row.connection.map(|connection| &connection.id).into()
    }),
    always(
        "start_s",
        Kind::Real,
        "s",
        "when it arrived, was requested or written, since the start of the run, warm-up included",
        |row| row.transfer.map(|transfer| seconds(transfer.start_ns)).into(),
    ),
    always("bytes", Kind::Integer, "bytes", "payload; 0 of a burst that was not over", |row| {
        row.transfer.map(|transfer| transfer.bytes).into()
    }),
    column(
        "time_ms",
        Kind::Real,
        "ms",
        "until its last byte was handed to the receiving application in order; none if that was not in the run",
        |row| {
            let took = |transfer: &Transfer| Some((transfer.end_ns? - transfer.start_ns) as f64 / 1e6);
            row.transfer.and_then(took).into()
        },
    ),
];

const SUBFLOW: &[Column] = &[
    column("subflow", Kind::Text, "", "its key in the scenario; a TCP connection has one too", |row| {
        row.subflow.map(|subflow| &subflow.id).into()
    }),
    column(
        "links",
        Kind::Text,
        "",
        "ids of the links it crosses, from sender to receiver, with spaces between",
        |row| row.subflow.map(|subflow| subflow.links.join(" ")).into(),
    ),
    column("throughput_bps", Kind::Real, "bit/s", "IP bytes of data packets that arrived", |row| {
        row.subflow.map(|subflow| subflow.throughput_bps).into()
    }),
    column(
        "share_of_expected_percent",
        Kind::Real,
        "%",
        "its throughput against its fair share of the bottleneck",
        |row| share_of_expected(row).into(),
    ),
    column("mean_rtt_ms", Kind::Real, "ms", "mean of its RTT samples; none without a sample", |row| {
        row.subflow.and_then(|subflow| subflow.mean_rtt_ms).into()
    }),
    column("mean_cwnd", Kind::Real, "packets", "mean over time; none if it was never established", |row| {
        row.subflow.and_then(|subflow| subflow.mean_cwnd).into()
    }),
    column(
        "cwnd_p5",
        Kind::Integer,
        "packets",
        "5 % quantile of cwnd every 100 ms of the measured time",
        |row| row.subflow.and_then(|subflow| subflow.cwnd_quantiles.map(|of| of.p5)).into(),
    ),
    column(
        "cwnd_p25",
        Kind::Integer,
        "packets",
        "25 % quantile of cwnd every 100 ms of the measured time",
        |row| row.subflow.and_then(|subflow| subflow.cwnd_quantiles.map(|of| of.p25)).into(),
    ),
    column(
        "cwnd_p50",
        Kind::Integer,
        "packets",
        "50 % quantile of cwnd every 100 ms of the measured time",
        |row| row.subflow.and_then(|subflow| subflow.cwnd_quantiles.map(|of| of.p50)).into(),
    ),
    column(
        "cwnd_p75",
        Kind::Integer,
        "packets",
        "75 % quantile of cwnd every 100 ms of the measured time",
        |row| row.subflow.and_then(|subflow| subflow.cwnd_quantiles.map(|of| of.p75)).into(),
    ),
    column(
        "cwnd_p95",
        Kind::Integer,
        "packets",
        "95 % quantile of cwnd every 100 ms of the measured time",
        |row| row.subflow.and_then(|subflow| subflow.cwnd_quantiles.map(|of| of.p95)).into(),
    ),
    column("packets_sent", Kind::Integer, "packets", "data packets sent, retransmissions included", |row| {
        row.subflow.map(|subflow| subflow.packets_sent).into()
    }),
    column("retransmissions", Kind::Integer, "packets", "data packets sent again", |row| {
        row.subflow.map(|subflow| subflow.retransmissions).into()
    }),
    column("loss_episodes", Kind::Integer, "", "times it reduced its window, undone ones included", |row| {
        row.subflow.and_then(|subflow| subflow.loss_episodes).into()
    }),
    column("fast_retransmits", Kind::Integer, "", "episodes that began with a fast retransmit", |row| {
        row.subflow.and_then(|subflow| subflow.fast_retransmits).into()
    }),
    column("timeouts", Kind::Integer, "", "retransmission timeouts", |row| {
        row.subflow.map(|subflow| subflow.timeouts).into()
    }),
    column("ecn_reductions", Kind::Integer, "", "episodes that began with an ECN echo", |row| {
        row.subflow.and_then(|subflow| subflow.ecn_reductions).into()
    }),
    column("undos", Kind::Integer, "", "episodes undone because the loss was spurious", |row| {
        row.subflow.and_then(|subflow| subflow.undos).into()
    }),
];

const LINK: &[Column] = &[
    always(
        "link",
        Kind::Text,
        "",
        "its key in the scenario; a private copy is `key@connection.subflow.hop`",
        |row| row.link.map(|(link, _)| &link.id).into(),
    ),
    always("direction", Kind::Text, "", "`forward`, from sender to receiver, or `reverse`", |row| {
        row.link.map(|(_, direction)| direction).into()
    }),
    always("private", Kind::Bool, "", "whether one route has it for itself", |row| {
        row.link.map(|(link, _)| link.private).into()
    }),
    always("rate_bps", Kind::Integer, "bit/s", "serialisation rate as given", |row| {
        row.direction().map(|link| link.rate_bps).into()
    }),
    always("utilization", Kind::Real, "0 to 1", "share of the time that the transmitter was busy", |row| {
        row.direction().map(|link| link.utilization).into()
    }),
    always("packets", Kind::Integer, "packets", "entered the queue", |row| {
        row.direction().map(|link| link.packets).into()
    }),
    always("drops_packets", Kind::Integer, "packets", "dropped by the queue", |row| {
        row.direction().map(|link| link.drops_packets).into()
    }),
    always("lost_packets", Kind::Integer, "packets", "lost on the wire, after the queue", |row| {
        row.direction().map(|link| link.lost_packets).into()
    }),
    always("marked_packets", Kind::Integer, "packets", "got a congestion mark", |row| {
        row.direction().map(|link| link.marked_packets).into()
    }),
    always(
        "mean_queue_packets",
        Kind::Real,
        "packets",
        "mean over time, the packet being sent included",
        |row| row.direction().map(|link| link.mean_queue_packets).into(),
    ),
    column(
        "jain_connections",
        Kind::Real,
        "0 to 1",
        "Jain's index over the connections that cross it; forward rows of shared links only",
        |row| row.forward().and_then(|link| row.run.metrics.jain_connections.get(&link.id).copied()).into(),
    ),
    column(
        "jain_subflows",
        Kind::Real,
        "0 to 1",
        "the same over subflows, each TCP connection being one",
        |row| row.forward().and_then(|link| row.run.metrics.jain_subflows.get(&link.id).copied()).into(),
    ),
    column(
        "jain_mptcp_subflows",
        Kind::Real,
        "0 to 1",
        "the same over MPTCP subflows, TCP left out",
        |row| {
            row.forward().and_then(|link| row.run.metrics.jain_mptcp_subflows.get(&link.id).copied()).into()
        },
    ),
];

const SAMPLE: &[Column] = &[
    RUN_NUMBER,
    always("connection", Kind::Text, "", "as in `flows`", |row| {
        row.connection.map(|connection| &connection.id).into()
    }),
    always("subflow", Kind::Text, "", "as in `flows`", |row| row.subflow.map(|subflow| &subflow.id).into()),
    always("time_s", Kind::Real, "s", "since the start of the run, warm-up included", |row| {
        row.sample.map(|sample| seconds(sample.time_ns)).into()
    }),
    always("cwnd", Kind::Integer, "packets", "congestion window", |row| {
        row.sample.map(|sample| sample.cwnd).into()
    }),
    column(
        "ssthresh",
        Kind::Integer,
        "packets",
        "slow-start threshold; none before the first reduction",
        |row| row.sample.and_then(|sample| sample.ssthresh).into(),
    ),
    column("srtt_ms", Kind::Real, "ms", "smoothed RTT; none before the first RTT sample", |row| {
        row.sample.and_then(|sample| sample.srtt_us.map(|us| f64::from(us) / 1e3)).into()
    }),
    always("in_flight", Kind::Integer, "packets", "believed to be in the network", |row| {
        row.sample.map(|sample| sample.in_flight).into()
    }),
    always(
        "received_bytes",
        Kind::Integer,
        "bytes",
        "IP bytes of data packets that have reached the receiver since the start of the run",
        |row| row.sample.map(|sample| sample.received_bytes).into(),
    ),
    always("retransmissions", Kind::Integer, "packets", "sent again since the start of the run", |row| {
        row.sample.map(|sample| sample.retransmissions).into()
    }),
    column(
        "group",
        Kind::Integer,
        "",
        "group of subflows with the same bottleneck, 0 for none; none where the algorithm detects no bottlenecks",
        |row| row.sample.and_then(|sample| sample.group.map(u32::from)).into(),
    ),
];

const QUEUE: &[Column] = &[
    RUN_NUMBER,
    always("link", Kind::Text, "", "as in `links`", |row| row.link.map(|(link, _)| &link.id).into()),
    always("time_s", Kind::Real, "s", "since the start of the run, warm-up included", |row| {
        row.queue.map(|queue| seconds(queue.time_ns)).into()
    }),
    always("queue_packets", Kind::Integer, "packets", "in the queue, the one being sent included", |row| {
        row.queue.map(|queue| queue.queue_packets).into()
    }),
    always(
        "drops_packets",
        Kind::Integer,
        "packets",
        "dropped by the queue since the start of the run",
        |row| row.queue.map(|queue| queue.drops_queue).into(),
    ),
];

const DETECTION: &[Column] = &[
    RUN_NUMBER,
    always("connection", Kind::Text, "", "as in `flows`", |row| {
        row.detection.map(|detection| &detection.connection).into()
    }),
    always("subflow", Kind::Text, "", "as in `flows`", |row| {
        row.detection.map(|detection| &detection.subflow).into()
    }),
    always("bottleneck", Kind::Text, "", "id of the slowest link of its route", |row| {
        row.detection.map(|detection| &detection.bottleneck).into()
    }),
    always(
        "shared",
        Kind::Bool,
        "",
        "the truth: whether another subflow has it as its bottleneck, too",
        |row| row.detection.map(|detection| detection.shared).into(),
    ),
    always("from_s", Kind::Real, "s", "since when, from the start of the run", |row| {
        row.detection.map(|detection| detection.from_s).into()
    }),
    always("to_s", Kind::Real, "s", "until when, from the start of the run", |row| {
        row.detection.map(|detection| detection.to_s).into()
    }),
    always("accuracy_percent", Kind::Real, "%", "time in which its label, shared or not, was right", |row| {
        row.detection.map(|detection| detection.accuracy_percent).into()
    }),
    always(
        "group_accuracy_percent",
        Kind::Real,
        "%",
        "time in which its group was right: just the subflows with that bottleneck",
        |row| row.detection.map(|detection| detection.group_accuracy_percent).into(),
    ),
    always("changes", Kind::Integer, "", "how often the label changed", |row| {
        row.detection.map(|detection| detection.changes as u64).into()
    }),
    always("right_changes", Kind::Integer, "", "how often it changed to the right one", |row| {
        row.detection.map(|detection| detection.right_changes as u64).into()
    }),
    column("first_right_ms", Kind::Real, "ms", "until the label was right for the first time", |row| {
        row.detection.and_then(|detection| detection.first_right_ms).into()
    }),
    column(
        "settled_ms",
        Kind::Real,
        "ms",
        "until it was right for good; none if it was wrong at the end",
        |row| row.detection.and_then(|detection| detection.settled_ms).into(),
    ),
    column(
        "standing_s",
        Kind::Real,
        "s",
        "time, from its second second on, in which a queue stood: packets had waited for more than 3 ms, and three jitters, \
         on average over the second before",
        |row| row.detection.and_then(|detection| detection.standing_s).into(),
    ),
    column(
        "standing_accuracy_percent",
        Kind::Real,
        "%",
        "share of that in which the label was right",
        |row| row.detection.and_then(|detection| detection.standing_accuracy_percent).into(),
    ),
];

/// A subflow's share; for a TCP connection, that of the connection.
fn share_of_expected(row: &Row) -> Option<f64> {
    let shares = &row.metrics().share_of_expected_percent;
    let (connection, subflow) = (row.connection?, row.subflow?);
    if connection.kind == "tcp" {
        return *shares.get(&connection.id)?;
    }
    *shares.get(&format!("{}.{}", connection.id, subflow.id))?
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
