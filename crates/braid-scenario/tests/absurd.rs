//! Files of at most 1 MiB that request far more memory: refused at once.

#![cfg(unix)]

use std::fmt::Write as _;
use std::time::Duration;

use braid_scenario::{Source, load};
use rustix::time::{ClockId, clock_gettime};

const HEAD: &str = "title = \"x\"\nduration = \"10s\"\n";
const LINK: &str = "[link.b1]\nrate = \"10mbit\"\ndelay = \"1ms\"\nqueue = \"10p\"\n";
const CONNECTION: &str = "[connection.t]\nkind = \"tcp\"\nroute = [\"b1\"]\n";

fn many(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// CPU time of this thread, so that other load does not matter.
fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn what_asks_for_too_much_is_refused_at_once() {
    let changes =
        many(15_000, "\n", |i| format!("[[link.b1.change]]\nat = \"{}ns\"\nrate = \"1bit\"", i + 1));
    let long_way = format!("[{}]", many(32, ",", |_| "\"b1\"".to_owned()));
    let cases = [
        (
            "cells with many outages each",
            format!(
                "{HEAD}[parameters]\na = [{}]\nb = [{}]\n{}outages = [{}]\nloss = \"$b\"\n{CONNECTION}",
                many(100, ",", |i| format!("\"{}p\"", i + 1)),
                many(100, ",", |i| format!("0.{i:03}")),
                LINK.replace("10p", "$a"),
                many(20_000, ",", |i| format!("\"{}ns..{}ns\"", 2 * i, 2 * i + 1)),
            ),
            "more than 1000000 links, outages and changes",
        ),
        (
            "private links with many changes each",
            format!(
                "{HEAD}{LINK}private = true\n{changes}\n{}",
                many(1500, "\n", |i| format!("[connection.t{i}]\nkind = \"tcp\"\nroute = {long_way}")),
            ),
            "more than 1000000 private links with their outages and changes",
        ),
        (
            "an unknown key in every link",
            format!("{HEAD}{}\n{CONNECTION}", {
                many(15_000, "\n", |i| LINK.replace("b1", &format!("b{i}")) + "quue = 1")
            }),
            "... and many more",
        ),
        (
            "an unknown link in every connection",
            format!("{HEAD}{LINK}{}", {
                many(20_000, "\n", |i| format!("[connection.t{i}]\nkind = \"tcp\"\nroute = [\"b9\"]"))
            }),
            "... and many more",
        ),
        (
            "a thousand problems in a line of a mebibyte",
            format!("{HEAD}link = {{{}}}\n{CONNECTION}", {
                many(20_000, ",", |i| format!("b{i}={{rate=\"1mbps\",delay=\"1ms\",queue=\"1p\"}}"))
            }),
            "... and many more",
        ),
        (
            "more links than a remedy can list",
            format!(
                "{HEAD}{}\n{}",
                { many(15_000, "\n", |i| LINK.replace("b1", &format!("b{i}"))) },
                CONNECTION.replace("b1", "elsewhere")
            ),
            "b39 and 14960 more",
        ),
        (
            "variables without use",
            format!(
                "{HEAD}[parameters]\n{}\n{LINK}{CONNECTION}",
                many(60_000, "\n", |i| format!("a{i} = [1]"))
            ),
            "... and many more",
        ),
        (
            "a value of almost a mebibyte",
            format!("{HEAD}[parameters]\na = [\"{}ms\"]\n{LINK}{CONNECTION}", "1".repeat(900_000)),
            "too long for the value of a variable",
        ),
        (
            "a title of almost a mebibyte",
            format!("{}{LINK}{CONNECTION}", HEAD.replace('x', &"x".repeat(900_000))),
            "longer than 200 bytes",
        ),
        (
            "thirty thousand subflows",
            format!("{HEAD}{LINK}[connection.m]\nkind = \"mptcp\"\n{}", {
                many(30_000, "\n", |i| format!("subflow.s{i}.route = [\"b1\"]"))
            }),
            "30000 subflows, at most 8",
        ),
    ];
    for (what, text, expected) in cases {
        assert!(text.len() <= 1 << 20, "{what}: {} bytes would be refused unread", text.len());
        let started = own_time();
        let error = load(&Source { name: "x.toml".to_owned(), text }, &[]).expect_err(what);
        let mut message = String::new();
        write!(message, "{error}").unwrap();
        assert!(message.contains(expected), "{what}: {message}");
        assert!(message.len() < 20_000, "{what}: {} bytes of message", message.len());
        // Immediate; without the limits it takes minutes.
        let took = own_time().saturating_sub(started);
        assert!(took < Duration::from_secs(20), "{what} takes {took:?}");
    }
}
