//! Invalid input and its error message: `snapshots/wrong__*.snap` is the manual of messages.

use std::fmt::Write as _;

use braid_scenario::{Source, load};

/// A valid scenario, which the cases break.
pub(crate) const GOOD: &str = r#"title = "Two paths"
duration = "60s"
warmup = "5s"
cc = ["lia", "olia"]

[parameters]
bandwidth = ["10mbit", "20mbit"]
paths = [{ near = "5ms", far = "10ms" }, { near = "5ms", far = "50ms" }]

[link.access]
rate = "100mbit"
delay = "1ms"
queue = "1000p"
private = true

[link.b1]
rate = "$bandwidth"
delay = "$near"
queue = "100p"
loss = "0.1%"
outages = ["10s..20s", "30s..40s"]

[link.b2]
rate = "5mbit"
delay = "$far"
queue = "64kB"

[link.b2.reverse]
rate = "1mbit"

[connection.mp0]
kind = "mptcp"

[connection.mp0.subflow.sf1]
route = ["access", "b1", "access"]

[connection.mp0.subflow.sf2]
route = ["access", "b2", "access"]
join-delay = "50ms"

[connection.tcp0]
kind = "tcp"
cc = "cubic"
start = "10s"
stop = "50s"
route = ["access", "b1", "access"]
"#;

fn message(text: &str, set: &[&str]) -> String {
    let source = Source { name: "x.toml".to_owned(), text: text.to_owned() };
    let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
    match load(&source, &set) {
        Ok(_) => panic!("accepted:\n{text}\n{set:?}"),
        Err(error) => error.to_string(),
    }
}

/// Each case replaces a part of the valid scenario.
pub(crate) const FILES: &[(&str, &str, &str)] = &[
    // Units.
    ("a rate in mbps", "\"100mbit\"", "\"100mbps\""),
    ("a rate in Mb/s", "\"100mbit\"", "\"100Mb/s\""),
    ("a rate in Mbit/s", "\"100mbit\"", "\"100Mbit/s\""),
    ("a rate without a unit", "\"100mbit\"", "\"100\""),
    ("a rate that is a number", "\"100mbit\"", "100"),
    ("a rate that is a list", "\"100mbit\"", "[\"100mbit\"]"),
    ("a negative rate", "\"100mbit\"", "\"-100mbit\""),
    ("a rate of zero", "\"100mbit\"", "\"0mbit\""),
    ("an absurd rate", "\"100mbit\"", "\"1001gbit\""),
    ("a rate with an exponent", "\"100mbit\"", "\"1e30gbit\""),
    ("the same value twice", "[\"10mbit\", \"20mbit\"]", "[\"10mbit\", \"20mbit\", \"10mbit\"]"),
    (
        "the same combination twice",
        "{ near = \"5ms\", far = \"50ms\" }",
        "{ far = \"10ms\", near = \"5ms\" }",
    ),
    ("a list of subflows", "[connection.mp0.subflow.sf1]", "[[connection.mp0.subflow]]"),
    (
        "a rate of a thousand digits",
        "\"100mbit\"",
        "\"11111111111111111111111111111111111111111111111111111111111111111111mbit\"",
    ),
    ("a rate of half a bit", "\"100mbit\"", "\"0.5bit\""),
    ("a rate with two points", "\"100mbit\"", "\"1.2.3mbit\""),
    ("a rate with an unknown unit", "\"100mbit\"", "\"100baud\""),
    ("a delay without a unit", "\"1ms\"", "1"),
    ("a delay that may be minutes", "\"1ms\"", "\"1m\""),
    ("a delay in sec", "\"1ms\"", "\"0.001 sec\""),
    ("a delay below a nanosecond", "\"1ms\"", "\"0.5ns\""),
    ("an absurd delay", "\"1ms\"", "\"2min\""),
    ("a duration in hours", "\"60s\"", "\"1h\""),
    ("a queue without a unit", "\"1000p\"", "1000"),
    ("a queue in packets spelt out", "\"1000p\"", "\"1000 packets\""),
    ("a queue without room", "\"1000p\"", "\"0p\""),
    ("a queue of more packets than fit", "\"1000p\"", "\"5000000000p\""),
    ("a queue in kb", "\"64kB\"", "\"64kb\""),
    ("a queue shorter than a packet", "\"64kB\"", "\"1kB\""),
    ("a loss in percent without the sign", "\"0.1%\"", "5"),
    ("a certain loss", "\"0.1%\"", "\"100%\""),
    ("a negative loss", "\"0.1%\"", "-0.1"),
    ("a loss that is no number", "\"0.1%\"", "nan"),
    ("a loss that is a word", "\"0.1%\"", "\"heavy\""),
    ("an outage without an end", "\"30s..40s\"", "\"30s\""),
    ("an outage that ends before it starts", "\"30s..40s\"", "\"40s..30s\""),
    ("an outage with a wrong unit", "\"30s..40s\"", "\"30..40s\""),
    ("outages out of order", "\"30s..40s\"", "\"5s..8s\""),
    // Keys and types.
    ("a key misspelt", "private = true", "privat = true"),
    ("a key of another tool", "delay = \"1ms\"", "latency = \"1ms\""),
    ("a key that resembles nothing", "private = true", "colour = \"red\""),
    ("a table misspelt", "[link.access]", "[links.access]"),
    ("a missing key", "queue = \"1000p\"\n", ""),
    ("neither delay nor rtt", "delay = \"1ms\"\n", ""),
    ("both delay and rtt", "delay = \"1ms\"\n", "delay = \"1ms\"\nrtt = \"2ms\"\n"),
    (
        "an rtt beside the delay of one way",
        "delay = \"$far\"\nqueue = \"64kB\"\n\n[link.b2.reverse]",
        "rtt = \"$far\"\nqueue = \"64kB\"\n\n[link.b2.reverse]\ndelay = \"1ms\"",
    ),
    ("loss and drop-every", "loss = \"0.1%\"", "loss = \"0.1%\"\ndrop-every = 1000"),
    ("every single packet lost", "loss = \"0.1%\"", "drop-every = 1"),
    ("a negative count", "loss = \"0.1%\"", "drop-every = -5"),
    ("a threshold the queue never reaches", "loss = \"0.1%\"", "ecn-threshold = \"100p\""),
    // Loss in bursts.
    ("bursts without an end", "loss = \"0.1%\"", "loss = { to-bad = \"0.1%\", to-good = 0 }"),
    ("bursts that never begin", "loss = \"0.1%\"", "loss = { to-bad = 0, to-good = \"20%\" }"),
    ("bursts without a beginning", "loss = \"0.1%\"", "loss = { to-good = \"20%\" }"),
    ("a burst key misspelt", "loss = \"0.1%\"", "loss = { to-bad = \"0.1%\", to-god = \"20%\" }"),
    ("a chance above one", "loss = \"0.1%\"", "loss = { to-bad = \"0.1%\", to-good = \"120%\" }"),
    (
        "good and bad confused",
        "loss = \"0.1%\"",
        "loss = { to-bad = 0.1, to-good = 0.2, good = 0.5, bad = 0.1 }",
    ),
    ("everything lost", "loss = \"0.1%\"", "loss = { to-bad = 0.1, to-good = 0.2, good = 1 }"),
    ("bursts and drop-every", "loss = \"0.1%\"", "loss = { to-bad = 0.1, to-good = 0.2 }\ndrop-every = 9"),
    ("a loss that is a flag", "\"0.1%\"", "true"),
    // Queue disciplines.
    ("an unknown discipline", "loss = \"0.1%\"", "discipline = \"sfq\""),
    ("an unknown discipline in a table", "loss = \"0.1%\"", "discipline = { kind = \"pie\" }"),
    ("a discipline without a name", "loss = \"0.1%\"", "discipline = { target = \"5ms\" }"),
    ("a discipline that is a number", "loss = \"0.1%\"", "discipline = 5"),
    (
        "a discipline with an unknown key",
        "loss = \"0.1%\"",
        "discipline = { kind = \"codel\", targte = \"5ms\" }",
    ),
    ("a target for drop-tail", "loss = \"0.1%\"", "discipline = { kind = \"drop-tail\", target = \"5ms\" }"),
    ("flows for codel", "loss = \"0.1%\"", "discipline = { kind = \"codel\", flows = 1024 }"),
    ("a target of zero", "loss = \"0.1%\"", "discipline = { kind = \"codel\", target = \"0s\" }"),
    (
        "a target above the interval",
        "loss = \"0.1%\"",
        "discipline = { kind = \"codel\", target = \"200ms\" }",
    ),
    (
        "an interval below the target",
        "loss = \"0.1%\"",
        "discipline = { kind = \"codel\", interval = \"1ms\" }",
    ),
    ("an interval of hours", "loss = \"0.1%\"", "discipline = { kind = \"codel\", interval = \"60min\" }"),
    ("no flow queues", "loss = \"0.1%\"", "discipline = { kind = \"fq-codel\", flows = 0 }"),
    ("a tiny quantum", "loss = \"0.1%\"", "discipline = { kind = \"fq-codel\", quantum = 1 }"),
    ("a threshold for codel", "loss = \"0.1%\"", "discipline = \"codel\"\necn-threshold = \"20p\""),
    (
        "a threshold for codel on the way back",
        "[link.b2.reverse]",
        "discipline = \"codel\"\n[link.b2.reverse]\necn-threshold = \"20p\"",
    ),
    ("red without its least length", "loss = \"0.1%\"", "discipline = \"red\""),
    (
        "red with its lengths confused",
        "loss = \"0.1%\"",
        "discipline = { kind = \"red\", min = \"60p\", max = \"20p\" }",
    ),
    (
        "red that never drops",
        "loss = \"0.1%\"",
        "discipline = { kind = \"red\", min = \"5p\", probability = 0 }",
    ),
    ("red that never learns", "loss = \"0.1%\"", "discipline = { kind = \"red\", min = \"5p\", weight = 0 }"),
    (
        "a target for red",
        "loss = \"0.1%\"",
        "discipline = { kind = \"red\", min = \"5p\", target = \"5ms\" }",
    ),
    (
        "a threshold for red",
        "loss = \"0.1%\"",
        "discipline = { kind = \"red\", min = \"5p\" }\necn-threshold = \"1ms\"",
    ),
    ("a threshold without a unit", "loss = \"0.1%\"", "ecn-threshold = \"20\""),
    ("a threshold of no time", "loss = \"0.1%\"", "ecn-threshold = \"0ms\""),
    (
        "a threshold in bytes the queue never reaches",
        "queue = \"64kB\"",
        "queue = \"64kB\"\necn-threshold = \"64kB\"",
    ),
    // Traces and reordering.
    ("neither rate nor trace", "rate = \"100mbit\"\n", ""),
    ("both rate and trace", "rate = \"100mbit\"\n", "rate = \"100mbit\"\ntrace = \"lte-drive\"\n"),
    ("a trace misspelt", "rate = \"100mbit\"\n", "trace = \"lte-drove\"\n"),
    ("a trace that is no file", "rate = \"100mbit\"\n", "trace = \"no/such.trace\"\n"),
    ("a start of no trace", "rate = \"100mbit\"\n", "rate = \"100mbit\"\ntrace-start = \"1s\"\n"),
    (
        "a start after the end of a trace",
        "rate = \"100mbit\"\n",
        "trace = \"lte-drive\"\ntrace-start = \"30s\"\n",
    ),
    (
        "a start between milliseconds",
        "rate = \"100mbit\"\n",
        "trace = \"lte-drive\"\ntrace-start = \"10us\"\n",
    ),
    ("a trace that is a number", "rate = \"100mbit\"\n", "trace = 12\n"),
    ("reordering without jitter", "private = true", "reordering = true"),
    (
        "reordering by a delay that gets longer",
        "[link.b2.reverse]",
        "reordering = true\nchange = [{ at = \"9s\", delay = \"1s\" }]\n[link.b2.reverse]",
    ),
    ("a random start after the end", "start = \"10s\"", "start = \"10s..60s\""),
    ("a random start that ends before it begins", "start = \"10s\"", "start = \"10s..5s\""),
    // Changes.
    (
        "a change of a traced rate",
        "rate = \"100mbit\"\n",
        "trace = \"lte-drive\"\nchange = [{ at = \"9s\", rate = \"1mbit\" }]\n",
    ),
    ("a link up twice", "[link.b2.reverse]", "change = [{ at = \"9s\", state = \"up\" }]\n[link.b2.reverse]"),
    (
        "a state of its own",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", state = \"off\" }]\n[link.b2.reverse]",
    ),
    ("what happens when nothing does", "private = true", "when-down = \"keep\""),
    (
        "a discipline that becomes another",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", discipline = \"codel\" }]\n[link.b2.reverse]",
    ),
    (
        "more flow queues, later",
        "[link.b2.reverse]",
        "discipline = \"fq-codel\"\nchange = [{ at = \"9s\", discipline = { kind = \"fq-codel\", flows = 9 } }]\n[link.b2.reverse]",
    ),
    (
        "a queue that becomes shorter than its threshold",
        "[link.b2.reverse]",
        "ecn-threshold = \"20kB\"\nchange = [{ at = \"9s\", queue = \"15kB\" }]\n[link.b2.reverse]",
    ),
    (
        "a queue that becomes shorter than a packet",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", queue = \"1kB\" }]\n[link.b2.reverse]",
    ),
    ("a change of route to nowhere", "join-delay = \"50ms\"", "change = [{ at = \"9s\", route = [\"b3\"] }]"),
    ("a change of route to the same", "join-delay = \"50ms\"", "change = [{ at = \"9s\" }]"),
    (
        "a change of route at the start",
        "join-delay = \"50ms\"",
        "change = [{ at = \"0s\", route = [\"b1\"] }]",
    ),
    (
        "a change of route for all subflows",
        "kind = \"mptcp\"",
        "kind = \"mptcp\"\nchange = [{ at = \"9s\", route = [\"b1\"] }]",
    ),
    ("a change of nothing", "[link.b2.reverse]", "[[link.b2.change]]\nat = \"9s\"\n[link.b2.reverse]"),
    ("a change at no time", "[link.b2.reverse]", "[[link.b2.change]]\nrate = \"1mbit\"\n[link.b2.reverse]"),
    (
        "a change at the start",
        "[link.b2.reverse]",
        "[[link.b2.change]]\nat = \"0s\"\nrate = \"1mbit\"\n[link.b2.reverse]",
    ),
    (
        "two changes at one time",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", rate = \"1mbit\" }, { at = \"9s\", loss = 0 }]\n[link.b2.reverse]",
    ),
    (
        "changes out of order",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", rate = \"1mbit\" }, { at = \"8s\", rate = \"2mbit\" }]\n[link.b2.reverse]",
    ),
    (
        "a change to nothing at all",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", rate = \"0mbit\" }]\n[link.b2.reverse]",
    ),
    (
        "a change to an absurd delay",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", delay = \"61s\" }]\n[link.b2.reverse]",
    ),
    (
        "a change of what cannot change",
        "[link.b2.reverse]",
        "change = [{ at = \"9s\", jitter = \"1ms\" }]\n[link.b2.reverse]",
    ),
    ("a change that is no table", "[link.b2.reverse]", "change = [\"9s\"]\n[link.b2.reverse]"),
    (
        "bursts without an end on the way back, later",
        "[link.b2.reverse]",
        "[link.b2.reverse]\nchange = [{ at = \"9s\", loss = { to-bad = 0.1, to-good = 0 } }]",
    ),
    ("a flag in quotes", "private = true", "private = \"true\""),
    ("a date", "\"60s\"", "2024-01-01"),
    ("a title of several lines", "\"Two paths\"", "\"Two\\npaths\""),
    (
        "a name with a capital",
        "[link.b2.reverse]",
        "[link.B3]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"1p\"\n[link.b2.reverse]",
    ),
    ("a terminal escape in a key", "private = true", "\"\\u001b[31mred\" = true"),
    // Times.
    ("no duration at all", "duration = \"60s\"", "duration = \"0s\""),
    ("a run of two days", "duration = \"60s\"", "duration = \"2880min\""),
    ("nothing left to measure", "warmup = \"5s\"", "warmup = \"50s\"\ncooldown = \"10s\""),
    (
        "a period beyond the end",
        "warmup = \"5s\"",
        "cooldown = \"5s\"\nperiods = [\"0s..20s\", \"20s..60s\"]",
    ),
    ("a period twice", "warmup = \"5s\"", "periods = [\"0s..20s\", \"0s..20s\"]"),
    ("a period that is no list", "warmup = \"5s\"", "periods = \"0s..20s\""),
    ("a period that is a moment", "warmup = \"5s\"", "periods = [\"20s\"]"),
    ("a connection after the end", "start = \"10s\"", "start = \"60s\""),
    ("a connection that stops before it starts", "stop = \"50s\"", "stop = \"10s\""),
    ("a subflow that joins after the end", "\"50ms\"\n\n[connection.tcp0]", "\"61s\"\n\n[connection.tcp0]"),
    (
        "the first subflow joining",
        "route = [\"access\", \"b1\", \"access\"]\n\n[connection.mp0.subflow.sf2]",
        "route = [\"b1\"]\njoin-delay = \"1s\"\n\n[connection.mp0.subflow.sf2]",
    ),
    // Traffic.
    ("an unknown pattern of traffic", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = { kind = \"web\" }"),
    ("traffic without a pattern", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = { size = \"1MB\" }"),
    ("traffic that is a word", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = \"object\""),
    ("an object without a size", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = { kind = \"object\" }"),
    (
        "an object without a byte",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = \"0B\" }",
    ),
    (
        "an object without a unit",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = 100 }",
    ),
    (
        "an object of a petabyte",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = \"1000000001MB\" }",
    ),
    (
        "a key of another pattern",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = \"1MB\", think = \"1s\" }",
    ),
    (
        "arrivals without an interval",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"poisson\", size = \"1MB\" }",
    ),
    (
        "arrivals all at once",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"poisson\", every = \"0s\", size = \"1MB\" }",
    ),
    (
        "more arrivals than can be meant",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"poisson\", every = \"1ns\", size = \"1MB\" }",
    ),
    (
        "no flow at a time",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"poisson\", every = \"1s\", size = \"1MB\", at-once = 0 }",
    ),
    (
        "a pause of no length",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"on-off\", on = \"1s\", off = \"0s\" }",
    ),
    ("on without off", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = { kind = \"on-off\", on = \"1s\" }"),
    (
        "a request that would need congestion control",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"request-response\", request = \"20kB\", response = \"1MB\" }",
    ),
    ("a constant rate without a rate", "kind = \"tcp\"", "kind = \"tcp\"\ntraffic = { kind = \"cbr\" }"),
    (
        "writes of nothing",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"cbr\", rate = \"1kbit\", every = \"1us\" }",
    ),
    (
        "more writes than can be meant",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"cbr\", rate = \"100gbit\" }",
    ),
    (
        "a client without a server",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", client = [\"curl\", \"{server}\"] }",
    ),
    (
        "a server without a name",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", server = [], client = [\"curl\", \"{server}\"] }",
    ),
    (
        "a program that is no list of words",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", server = \"iperf3 -s\", client = [\"iperf3\"] }",
    ),
    (
        "a sender that is neither of the two",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", server = [\"a\"], client = [\"b\"], sender = \"both\" }",
    ),
    (
        "a file for programs that is not there",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", server = [\"a\"], client = [\"b\"], files = [\"no-such.conf\"] }",
    ),
    (
        "a file for programs from elsewhere",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"program\", server = [\"a\"], client = [\"b\"], files = [\"../x.conf\"] }",
    ),
    (
        "a program for a bulk transfer",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"bulk\", server = [\"a\"] }",
    ),
    (
        "an unknown distribution",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"normal\", mean = \"1MB\" } }",
    ),
    (
        "a distribution without a name",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { mean = \"1MB\" } }",
    ),
    (
        "a distribution without its parameter",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"lognormal\", median = \"1MB\" } }",
    ),
    (
        "a parameter of another distribution",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"exponential\", mean = \"1MB\", sigma = 1 } }",
    ),
    (
        "a mean of zero",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"request-response\", response = \"1B\", think = { kind = \"exponential\", mean = \"0s\" } }",
    ),
    (
        "a tail too heavy for numbers",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"pareto\", shape = 0.01, least = \"1B\", most = \"1MB\" } }",
    ),
    (
        "least and most confused",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"pareto\", shape = 1, least = \"1MB\", most = \"1kB\" } }",
    ),
    (
        "a negative sigma",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"lognormal\", median = \"1MB\", sigma = -1 } }",
    ),
    (
        "a sigma that is a word",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"object\", size = { kind = \"lognormal\", median = \"1MB\", sigma = \"wide\" } }",
    ),
    ("addresses out of order", "join-delay = \"50ms\"", "up = [\"20s..30s\", \"10s..15s\"]"),
    ("an address after the end", "join-delay = \"50ms\"", "up = [\"70s..80s\"]"),
    (
        "an address that appears and a delay",
        "join-delay = \"50ms\"",
        "up = [\"10s..20s\"]\njoin-delay = \"50ms\"",
    ),
    (
        "a first subflow that comes later",
        "route = [\"access\", \"b1\", \"access\"]\n\n[connection.mp0.subflow.sf2]",
        "route = [\"b1\"]\nup = [\"1s..5s\"]\n\n[connection.mp0.subflow.sf2]",
    ),
    // Topology.
    ("a link that is not there", "\"b2\"", "\"b3\""),
    ("a loop", "[\"access\", \"b2\", \"access\"]", "[\"b2\", \"access\", \"b2\"]"),
    ("a route without links", "[\"access\", \"b2\", \"access\"]", "[]"),
    (
        "a route of thirty-four links",
        "[\"access\", \"b2\", \"access\"]",
        "[\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"access\",\"b2\"]",
    ),
    ("a route in quotes", "[\"access\", \"b2\", \"access\"]", "\"b2\""),
    ("tcp without a route", "stop = \"50s\"\nroute = [\"access\", \"b1\", \"access\"]", "stop = \"50s\""),
    ("tcp with subflows", "kind = \"mptcp\"", "kind = \"tcp\""),
    ("mptcp with a route", "kind = \"tcp\"", "kind = \"mptcp\""),
    (
        "mptcp without subflows",
        "[connection.tcp0]\nkind",
        "[connection.mp1]\nkind = \"mptcp\"\n\n[connection.tcp0]\nkind",
    ),
    ("an unknown kind", "kind = \"tcp\"", "kind = \"udp\""),
    ("a kind that is a number", "kind = \"tcp\"", "kind = 6"),
    ("no connections", "[connection.mp0]", "[other.mp0]"),
    (
        "a packet larger than a queue",
        "kind = \"mptcp\"",
        "kind = \"mptcp\"\nmss = 8960\n[link.b3]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"2kB\"\n[connection.mp0.subflow.sf0]\nroute = [\"b3\"]",
    ),
    (
        "nine subflows",
        "[connection.tcp0]",
        "[connection.mp0.subflow]\n1.route = [\"b1\"]\n2.route = [\"b1\"]\n3.route = [\"b1\"]\n4.route = [\"b1\"]\n5.route = [\"b1\"]\n6.route = [\"b1\"]\n7.route = [\"b1\"]\n\n[connection.tcp0]",
    ),
    ("an unknown version of IP", "kind = \"tcp\"", "kind = \"tcp\"\nip-version = 5"),
    ("a tiny mss", "kind = \"tcp\"", "kind = \"tcp\"\nmss = 40"),
    ("no initial window", "kind = \"tcp\"", "kind = \"tcp\"\ninitial-window = 0"),
    ("no initial threshold", "kind = \"tcp\"", "kind = \"tcp\"\ninitial-ssthresh = 0"),
    ("a receive buffer too small", "kind = \"tcp\"", "kind = \"tcp\"\nreceive-buffer = \"2kB\""),
    ("a send buffer too small", "kind = \"tcp\"", "kind = \"tcp\"\nsend-buffer = \"1kB\""),
    (
        "a deadline of what never ends",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"bulk\", deadline = \"1s\" }",
    ),
    (
        "a deadline at once",
        "kind = \"tcp\"",
        "kind = \"tcp\"\ntraffic = { kind = \"cbr\", rate = \"1mbit\", deadline = \"0s\" }",
    ),
    ("a congestion control that cannot be one", "cc = \"cubic\"", "cc = \"Cubic; reno\""),
    ("a congestion control twice", "cc = [\"lia\", \"olia\"]", "cc = [\"lia\", \"olia\", \"lia\"]"),
    (
        "more packets than can be counted",
        "[link.access]",
        "[link.b9]\nrate = \"1000gbit\"\ndelay = \"0s\"\nqueue = \"1p\"\n[connection.tcp9]\nkind = \"tcp\"\nroute = [\"b9\"]\n[link.access]",
    ),
    // Parameters.
    ("an unknown variable", "\"$bandwidth\"", "\"$bandwith\""),
    ("a variable nobody uses", "\"$bandwidth\"", "\"10mbit\""),
    ("a variable nobody uses, in a table", "\"$far\"", "\"10ms\""),
    ("a wrong unit in a parameter", "\"20mbit\"", "\"20mbps\""),
    ("a wrong unit in a later cell", "\"50ms\" }", "\"50\" }"),
    ("an axis that is no list", "[\"10mbit\", \"20mbit\"]", "\"10mbit\""),
    ("an axis without values", "[\"10mbit\", \"20mbit\"]", "[]"),
    ("a value that is a list", "\"20mbit\"]", "[\"20mbit\"]]"),
    ("tables with different variables", "far = \"50ms\"", "fra = \"50ms\""),
    ("a variable set by two axes", "near = \"5ms\", far = \"10ms\"", "bandwidth = \"5ms\", far = \"10ms\""),
    ("a variable with a bad name", "bandwidth = [", "Band_width = ["),
    ("a variable whose value is one", "\"20mbit\"", "\"$far\""),
    (
        "parameters that are no table",
        "[parameters]\nbandwidth = [\"10mbit\", \"20mbit\"]\npaths = [{ near = \"5ms\", far = \"10ms\" }, { near = \"5ms\", far = \"50ms\" }]",
        "parameters = 3",
    ),
    // TOML.
    ("not TOML", "duration = \"60s\"", "duration: 60s"),
    ("a key twice", "duration = \"60s\"", "duration = \"60s\"\nduration = \"70s\""),
    ("an unclosed text", "\"60s\"", "\"60s"),
    ("a number too large for anything", "\"60s\"", "99999999999999999999"),
];

#[test]
fn every_wrong_file_gets_its_message() {
    let mut manual = String::new();
    for (what, good, bad) in FILES {
        assert!(GOOD.contains(good), "{what}: the good scenario has no {good}");
        let text = GOOD.replacen(good, bad, 1);
        writeln!(manual, "## {what}\n{}\n", message(&text, &[])).unwrap();
    }
    insta::assert_snapshot!("files", manual);
}

#[test]
fn texts_that_are_no_scenario_get_their_message() {
    let deep = format!("a = {}", "[".repeat(5000));
    let dots = format!("{}a = 1", "a.".repeat(5000));
    let long = format!("title = \"{}\" oops", "x".repeat(100_000));
    let rates: Vec<String> = (1..=5001).map(|kbit| format!("\"{kbit}kbit\"")).collect();
    let cells = GOOD.replace("\"10mbit\", \"20mbit\"", &rates.join(", "));
    let cases = [
        ("an empty file", ""),
        ("blank lines", "\n  \n"),
        ("a comment", "# later\n"),
        ("prose", "Two paths of 10 Mbit/s.\n"),
        ("JSON", "{ \"title\": \"x\" }\n"),
        ("control characters", "\u{0}\u{1}\u{2}ELF\n"),
        ("a letter TOML does not take for a key", "title = \"x\"\nr\u{e4}te = 1\n"),
        ("a currency sign", "rate \u{a5} \"1gbit\"\n"),
        ("only a title", "title = \"x\"\n"),
        ("values where tables belong", "title = \"x\"\nduration = \"1s\"\nlink = 3\nconnection = []\n"),
        ("a link that is a value", "title = \"x\"\nduration = \"1s\"\nlink.b1 = 3\n[connection]\n"),
        ("empty tables", "title = \"x\"\nduration = \"1s\"\n[link]\n[connection]\n"),
        (
            "an axis with a control character that is no list",
            "[parameters]\n\"\\u001b[31mred\" = \"\\u0007\"\n",
        ),
        ("deep nesting", &deep),
        ("deep dotted keys", &dots),
        ("a long line", &long),
        ("ten thousand and two cells", &cells),
    ];
    let mut manual = String::new();
    for (what, text) in cases {
        writeln!(manual, "## {what}\n{}\n", message(text, &[])).unwrap();
    }
    insta::assert_snapshot!("texts", manual);
}

pub(crate) const ASSIGNMENTS: &[&[&str]] = &[
    &["link.b1.rate=20mbps"],
    &["link.b1.rat=20mbit"],
    &["link.b1"],
    &["link.b7.rate=20mbit"],
    &["=20mbit"],
    &["link..rate=20mbit"],
    &["link.b2.rate.fast=1"],
    &["link.b2.reverse.rat=1mbit"],
    &["colour=red"],
    &["links.b2.rate=1mbit"],
    &["link.b2.rate=1mbit\u{1b}[31m"],
    &["duration=5s"],
    &["warmup=60s"],
    &["link.b2.loss=2"],
    &["link.b1.drop-every=100"],
    &["link.b1.drop-every=many"],
    &["link.b1.outages=10s..20s,15s..30s"],
    &["link.b1.discipline=fqcodel"],
    &["link.b2.loss={ to-bad = 1, to-good = 0 }"],
    &["link.b2.change=[{ at = \"1s\" }]"],
    &["link.b2.change=1s"],
    &["link.access.private=yes"],
    &["connection.mp0.subflow.sf3.route=b1"],
    &["connection.mp0.subflow.sf2.route=b1,b1"],
    &["connection.mp0.subflow.sf2.route=b1,b4"],
    &["connection.tcp0.cc=cubic,reno"],
    &["connection.tcp0.kind=mptcp"],
    &["connection.tcp0.stop=5s"],
    &["connection.tcp0.traffic.kind=poisson"],
    &["connection.tcp0.traffic={ kind = \"object\", size = \"1MB\" }", "connection.tcp0.traffic.size=1"],
    &["periods=0s..10s,50s..70s"],
    &["link.b1.rate=20mbit"],
    &["parameters.bandwidth=20"],
    &["parameters.bandwidth=10mbit,10mbit"],
    &["bandwidth=20mbit"],
    &["near=5ms"],
    &["parameters.bandwidth=10mbit,20mbps"],
    &["parameters.bandwith=20mbit"],
    &["parameters.far=20ms"],
    &["parameters.paths={ near = \"5ms\" }"],
    &["parameters.paths=5ms"],
    &["cc=[lia"],
    &["cc=lia,lia"],
    &["link.b2.rate=5mbps", "link.b2.delay=5"],
];

#[test]
fn every_wrong_assignment_gets_its_message() {
    let mut manual = String::new();
    for set in ASSIGNMENTS {
        writeln!(manual, "## {}\n{}\n", set.join(" ").escape_debug(), message(GOOD, set)).unwrap();
    }
    insta::assert_snapshot!("assignments", manual);
}

#[test]
fn the_scenario_that_the_cases_spoil_is_good() {
    let source = Source { name: "x.toml".to_owned(), text: GOOD.to_owned() };
    assert_eq!(load(&source, &[]).unwrap().cells.len(), 4);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = GOOD
        .replace("\"100mbit\"", "\"100mbps\"")
        .replace("outages", "outage")
        .replace("\"5mbit\"", "5")
        .replace("kind = \"tcp\"", "kind = \"udp\"");
    let source = Source { name: "x.toml".to_owned(), text };
    let error = load(&source, &[]).unwrap_err();
    let keys: Vec<&str> = error.problems().iter().filter_map(|problem| problem.key.as_deref()).collect();
    assert_eq!(keys, ["link.access.rate", "link.b1.outage", "link.b2.rate", "connection.tcp0.kind"]);
}

#[test]
fn a_problem_found_by_the_caller_gets_the_place_of_its_value() {
    let source = Source { name: "x.toml".to_owned(), text: GOOD.to_owned() };
    let file = load(&source, &["cc=lia,olia,reno".to_owned()]).unwrap();
    let place = |key| file.error(key, "unknown", None).problems()[0].place.clone();
    assert_eq!(place("connection.tcp0.cc"), "x.toml:43:6");
    assert_eq!(place("connection.mp0.cc"), "x.toml:31:13", "a key that is not there: its table");
    assert_eq!(place("cc[2]"), "--set cc=lia,olia,reno");
    let file = load(&source, &[]).unwrap();
    assert_eq!(file.error("cc[1]", "unknown", None).problems()[0].place, "x.toml:4:14");
}
