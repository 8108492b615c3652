//! `--report`: where the page is written, and that it depends on the runs alone.

use std::fs;
use std::process::Output;

use braid_testing::{Place, SMALL};

/// With a title that is no HTML, and a link that goes down.
fn place() -> Place {
    let place = Place::new();
    let text = SMALL.replace("title = \"small\"", "title = \"small </script> & <b>bold</b>\"");
    let loss = "loss = \"0.5%\"";
    place.write("small.toml", text.replace(loss, &format!("{loss}\noutages = [\"1s..1.5s\"]")));
    place
}

/// What a command that must succeed says on standard error.
#[track_caller]
fn done(output: &Output) -> String {
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{messages}");
    messages
}

#[test]
fn the_page_depends_on_the_runs_alone() {
    let place = place();
    let page = |name: &str, more: &str| {
        done(&place.output(&format!("run small.toml --seeds 4 --report {name} {more}")));
        place.read(name)
    };
    let one = page("one.html", "--jobs 1");
    assert_eq!(one, page("two.html", "--jobs 3 --format jsonl --quiet"));
    assert_eq!(one, page("three.html", "--out results --samples"));
    let command = |page: &str| page.replace("<span>", "").replace("</span>", "");
    assert!(command(&one).contains("braid run small.toml --seeds 4 --report report.html"));
    assert!(one.contains("small &lt;/script&gt; &amp; &lt;b&gt;bold"));
    assert!(one.contains("b1 down"), "what happens to links");
    assert_eq!(one, page("again.html", "--out results"), "runs that are done already are the same");
    let other = page("four.html", "--set link.b1.rate=3mbit");
    assert_ne!(one, other);
    assert!(command(&other).contains("--set link.b1.rate=3mbit"));
}

#[test]
fn the_runs_of_a_folder_fill_a_page_though_they_were_stored_without_samples() {
    let place = place();
    done(&place.output("run small.toml --seeds 2 --out results"));
    done(&place.output("report results --report page.html"));
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(
        page.replace("<span>", "")
            .replace("</span>", "")
            .contains("braid report results --report report.html")
    );
    assert!(page.contains("small &lt;/script&gt;"));
}

#[test]
fn the_command_of_a_page_names_all_that_the_page_depends_on() {
    let place = place();
    let command = |words: &str| {
        let output = place.output(&format!("{words} --report page.html --quiet"));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        let page = fs::read_to_string(place.path().join("page.html")).unwrap();
        let page = page.replace("<span>", "").replace("</span>", "");
        assert!(page.contains(&format!("braid {words} --report report.html")), "{words}");
    };
    command("run small.toml --cc lia,olia --backend sim,quic --seeds 1");
    command("repro d-olia --seeds 1 --claim c12");
}

#[test]
fn the_table_is_printed_as_without_a_report() {
    let place = place();
    let with = place.output("run small.toml --report page.html");
    assert!(done(&with).contains("page.html"));
    assert_eq!(with.stdout, place.output("run small.toml").stdout);
    assert!(done(&place.output("run small.toml --report page.html --quiet")).is_empty());
}

#[test]
fn an_earlier_report_is_replaced_and_nothing_else() {
    let place = place();
    let path = place.at("page.html");
    done(&place.output("run small.toml --report page.html"));
    let first = fs::read(&path).unwrap();
    done(&place.output("run small.toml --cc reno --report page.html"));
    assert_ne!(fs::read(&path).unwrap(), first);

    place.write("mine.html", "<!DOCTYPE html><title>mine</title>");
    place.refused(
        "run small.toml --report mine.html",
        &["mine.html", "not a report", "nothing was overwritten", "--report"],
    );
    assert!(place.read("mine.html").contains("mine"));
    place.refused("run small.toml --report small.toml", &["small.toml", "not a report"]);
}

#[test]
fn a_dry_run_writes_no_page() {
    let place = place();
    done(&place.output("run small.toml --report page.html --dry-run"));
    assert!(!place.at("page.html").exists());
}
