//! A user's file is compiled and runs, or is refused with the location of the violation.

use std::fs;
use std::path::PathBuf;

use braid_algorithms::Spec;
use braid_compile::{algorithm, object, template};
use braid_testing::says;
use tempfile::TempDir;

/// The template's file under this name.
fn good(name: &str) -> String {
    template(name).unwrap().remove(0).text
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_template_compiles_and_is_known_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Spec::parse("fresh").is_err());
    let path = write(&folder, "fresh.c", &good("fresh"));
    let first = algorithm(&path, |_| ()).unwrap();
    assert!(first.is_added());
    assert_eq!(Spec::parse("fresh:gain=1.5").unwrap().values(), [1536]);
    // The same file again is the same algorithm; a changed one is another algorithm, which a lookup then finds.
    assert!(std::ptr::eq(algorithm(&path, |_| ()).unwrap(), first));
    write(&folder, "fresh.c", &good("fresh").replace("1024, 64, 8192", "2048, 64, 8192"));
    let second = algorithm(&path, |_| ()).unwrap();
    assert_ne!(second.source_hash(), first.source_hash());
    assert_eq!(Spec::parse("fresh").unwrap().values(), [2048]);
}

/// Replaces a part of the valid file, and returns the error message, with `FILE` for its path.
fn refused(from: &str, to: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = good("bad");
    assert!(text.contains(from), "{from}");
    let path = write(&folder, "bad.c", &text.replacen(from, to, 1));
    let error = algorithm(&path, |_| ()).err().unwrap_or_else(|| panic!("{to}: taken"));
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn what_breaks_the_contract_is_told_with_its_place() {
    for (from, to, pieces) in [
        (
            "priv->carry = 0;",
            "double x = 1;",
            &["FILE:61: `double`", "no floating point", "hint: use whole numbers"][..],
        ),
        ("(u64)params->gain << 32", "(u64)(params->gain * 0.5)", &["FILE:37: `0.5`", "no floating point"]),
        (
            "struct bad_public {\n",
            "u32 count;\nstruct bad_public {\n",
            &["FILE:21: `count` is a global", "struct bad_private"],
        ),
        ("priv->carry = 0;", "static u32 calls; priv->carry = calls++;", &["FILE:61: `calls` is a global"]),
        (
            "bad_on_ack, bad_on_loss, BRAID_IGNORE, BRAID_IGNORE)",
            "bad_on_ack, bad_on_loss, BRAID_IGNORE)",
            &["FILE:67: BRAID_ALGORITHM has no on_idle_restart", "use BRAID_IGNORE for"],
        ),
        (
            "bad_on_ack, bad_on_loss, BRAID_IGNORE",
            "bad_on_ack, BRAID_IGNORE, BRAID_IGNORE",
            &["FILE:67: on_loss is missing", "never shrink"],
        ),
        ("BRAID_ALGORITHM(bad, BAD", "BRAID_ALGORITH(bad, BAD", &["FILE: no BRAID_ALGORITHM"]),
        (
            "\tpriv->carry = 0;\n",
            "\twhile (1)\n\t\tpriv->carry++;\n",
            &["FILE:61: `while` without a bound", "BRAID_MAX_SUBFLOWS"],
        ),
        ("\tpriv->carry = 0;\n", "\tfor (;;)\n\t\tpriv->carry++;\n", &["FILE:61: `for` without a bound"]),
        ("\tpriv->carry = 0;\n", "\tprintf(\"x\");\n", &["FILE:61", "printf"]),
        ("\tpriv->carry = 0;\n", "\tpriv->cary = 0;\n", &["FILE does not compile", "FILE:61:", "carry"]),
        ("\tpriv->carry = 0;\n", "\t__asm__(\"nop\");\n", &["FILE:61: `__asm__`"]),
    ] {
        let from = from.replace("BAD", "bad");
        let to = to.replace("BAD", "bad");
        let message = refused(&from, &to);
        says(&message, pieces);
    }
}

#[test]
fn what_is_used_against_a_flag_is_told_with_field_and_flag() {
    let folder = tempfile::tempdir().unwrap();
    let reads = good("liar").replace("braid_window(&view->subflow[i])", "view->subflow[i].in_flight");
    let with = |flags: &str| {
        let text = reads.replace("liar_PARAMS, 0", &format!("liar_PARAMS, {flags}"));
        algorithm(&write(&folder, "liar.c", &text), |_| ())
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let told = with("BRAID_RATES_OF_SIBLINGS");
    let why = "liar.c:67: it uses in_flight of a sibling, and says BRAID_RATES_OF_SIBLINGS: leave it out";
    assert!(told.contains(why), "{told}");
    assert!(Spec::parse("liar").is_err(), "what is refused is not known by its name");
    assert_eq!(with("0"), "");
}

#[test]
fn what_crashes_or_never_returns_is_left_to_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (name, to) in [
        ("crashes", "\t*(volatile u32 *)(64ull * self->cwnd) = 1;\n"),
        ("hangs", "\tfor (u32 i = 0; i < 8; i++)\n\t\ti -= i & 1;\n"),
    ] {
        let text = good(name).replace("\tpriv->carry = 0;\n", to);
        algorithm(&write(&folder, &format!("{name}.c"), &text), |_| ()).unwrap();
    }
}

#[test]
fn for_a_kernel_the_same_file_gives_the_same_bytes_wherever_it_is() {
    let compiled = || {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "inkernel.c", &good("inkernel"));
        object(&path, algorithm(&path, |_| ()).unwrap()).unwrap()
    };
    let first = compiled();
    assert!(first.starts_with(b"\x7fELF"));
    assert!(first == compiled());
}

#[test]
fn what_a_kernel_cannot_have_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let divides = "priv->carry = (s64)self->cwnd / (priv->carry - 7);";
    let path = write(&folder, "signed.c", &good("signed").replace("priv->carry = 0;", divides));
    // Native code may divide.
    let error = object(&path, algorithm(&path, |_| ()).unwrap()).unwrap_err().to_string();
    let parts =
        ["signed.c does not compile for a kernel", "signed.c:61:", "hint: a kernel has no signed division"];
    says(&error, &parts);
}

#[test]
fn what_comes_with_braid_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "mine.c", &good("mine").replace("mine", "lia"));
    assert!(algorithm(&path, |_| ()).err().unwrap().message.contains("`lia` is a built-in algorithm"));
    let path = folder.path().join("nowhere.c");
    assert!(algorithm(&path, |_| ()).err().unwrap().message.contains("nowhere.c: No such file"));
    for name in ["", "lia", "Mine", "much-too-long", "9lives", "tenletters"] {
        assert!(template(name).is_err(), "{name}");
    }
}
