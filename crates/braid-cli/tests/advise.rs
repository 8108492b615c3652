//! `braid advise` on networks from files.

#![cfg(target_os = "linux")]

use assert_cmd::Command;

fn advise(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("braid").unwrap().arg("advise").args(arguments).assert()
}

const QUICK: [&str; 5] = ["--cc", "cubic,lia", "--seeds", "6", "--json"];

fn answer(arguments: &[&str]) -> serde_json::Value {
    let output = advise(&[arguments, &QUICK].concat()).success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn where_all_share_a_bottleneck_cubic_on_each_path_harms_others_and_is_not_advised() {
    let answer = answer(&["everyday/shared", "--duration", "30s"]);
    assert_eq!(answer["candidates"][0]["fair"], false, "{answer:#}");
    assert_eq!(answer["candidates"][0]["several_shares"], true, "{answer:#}");
    assert_eq!(answer["choice"]["fair"], true, "{answer:#}");
    let usual = answer["candidates"].as_array().unwrap().last().unwrap();
    assert_eq!(usual["usual"], true, "{answer:#}");
    assert_eq!(
        usual["paths"].as_array().map(Vec::len),
        Some(1),
        "CUBIC on one path of the bottleneck: {answer:#}"
    );
}

#[test]
fn where_paths_share_nothing_coupling_would_only_cost() {
    let answer = answer(&["d-olia/1", "--duration", "30s"]);
    assert_eq!(answer["choice"]["cc"], "cubic", "{answer:#}");
    assert_eq!(answer["choice"]["scheduler"], "linux", "what an unmodified kernel has: {answer:#}");
    let text = advise(&["d-olia/1", "--duration", "30s", "--cc", "cubic,lia", "--seeds", "6"]).success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert!(text.contains("Advice: cubic.") && text.contains("Coupling would"), "{text}");
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_remedy() {
    let wrong = |arguments: &[&str], message: &str| {
        let output = advise(arguments).code(2).get_output().stderr.clone();
        let text = String::from_utf8(output).unwrap();
        assert!(text.contains(message), "{text}");
    };
    wrong(&["d-olia/1", "--seeds", "3"], "fewer than 5 seeds show\n  hint: leave --seeds out");
    wrong(&["--test", "127.0.0.1:9", "--from", "127.0.0.1,127.0.0.2"], "--limit");
    wrong(
        &["--test", "127.0.0.1:9", "--from", "127.0.0.1", "--limit", "1MB"],
        "takes one of this machine for each path",
    );
    wrong(&["--test", "127.0.0.1", "--from", "127.0.0.1,127.0.0.2", "--limit", "1MB"], "a host and a port");
    wrong(
        &["--test", "127.0.0.1:9", "--from", "127.0.0.1,127.0.0.2", "--limit", "1"],
        "expected a size such as 200MB",
    );
    wrong(&["d-olia/1", "--cc", "oliva"], "did you mean `olia`?");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.toml");
    let text = "title = \"Plain\"\nduration = \"10s\"\ncc = [\"reno\"]\n[link.b1]\nrate = \"5mbit\"\nrtt = \"20ms\"\nqueue = \"20p\"\n\
                [connection.tcp0]\nkind = \"tcp\"\nroute = [\"b1\"]\n";
    std::fs::write(&file, text).unwrap();
    wrong(&[file.to_str().unwrap()], "no MPTCP connection, which advice could be about\n  hint: add one");
}
