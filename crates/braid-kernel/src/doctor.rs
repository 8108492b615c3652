//! Requirements of this machine, and how to meet missing ones.

use std::{fs, path::Path};

use rustix::thread::CapabilitySet;

use crate::capabilities::{effective, may_load};
use crate::{
    bpffs, control,
    host::{Host, MODULE},
    module,
    object::{OLDEST_KERNEL, version},
    sockets,
};

/// The purpose of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    /// Several subflows in a connection.
    Bond,
    /// An algorithm that couples them.
    Couple,
    /// `status`, `top` and `metrics`.
    Watch,
    /// Experiments, modules and algorithms of one's own.
    Other,
}

/// A requirement of Braid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Its name.
    pub what: &'static str,
    /// What it is for.
    pub aim: Aim,
    /// Whether it is met.
    pub is_met: bool,
    /// Whether algorithms cannot be loaded as eBPF without it.
    pub is_essential: bool,
    /// The findings.
    pub found: String,
    /// Its purpose.
    pub why: &'static str,
    /// How to get it.
    pub remedy: &'static str,
}

/// All requirements, those for loading an algorithm first.
pub fn doctor() -> Vec<Requirement> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let release = read("/proc/sys/kernel/osrelease");
    let jit = read("/proc/sys/net/core/bpf_jit_enable");
    let mptcp = read("/proc/sys/net/mptcp/enabled");
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    let effective = effective();
    let yes_or_no = |is_met: bool| if is_met { "yes" } else { "no" }.to_owned();
    let as_root = "run as root, or give the program the capability";
    let privileges = may_load();
    let net_admin = effective.contains(CapabilitySet::NET_ADMIN) || rustix::process::geteuid().is_root();
    let sys_admin = effective.contains(CapabilitySet::SYS_ADMIN);
    let mut all = vec![
        Requirement {
            what: "Linux 6.4 or newer",
            aim: Aim::Couple,
            is_met: version(&release).is_some_and(|version| version >= OLDEST_KERNEL),
            is_essential: true,
            found: release.clone(),
            why: "older kernels cannot keep or replace a congestion control made of BPF programs",
            remedy: "boot a newer kernel, Debian 12 has one in bookworm-backports; or use the module tcp_braid, below",
        },
        Requirement {
            what: "BTF, the kernel's type information",
            aim: Aim::Couple,
            is_met: btf,
            is_essential: true,
            found: yes_or_no(btf),
            why: "programs find the fields of the kernel's sockets by it",
            remedy: "boot a distribution kernel, or build yours with CONFIG_DEBUG_INFO_BTF; mount /sys; or use the module",
        },
        Requirement {
            what: "BPF JIT compiler",
            aim: Aim::Couple,
            is_met: !jit.is_empty() && jit != "0",
            is_essential: true,
            found: if jit.is_empty() { "hidden or absent".into() } else { format!("bpf_jit_enable = {jit}") },
            why: "the kernel registers congestion controls only as machine code",
            remedy: "sysctl net.core.bpf_jit_enable=1; a kernel without it needs CONFIG_BPF_JIT",
        },
        Requirement {
            what: "CAP_BPF and CAP_PERFMON",
            aim: Aim::Couple,
            is_met: privileges,
            is_essential: true,
            found: yes_or_no(privileges),
            why: "to load programs that read sockets; a loaded algorithm belongs to the user who loaded it",
            remedy: as_root,
        },
        Requirement {
            what: "root or CAP_NET_ADMIN",
            aim: Aim::Couple,
            is_met: net_admin,
            is_essential: false,
            found: yes_or_no(net_admin),
            why: "for `braid default`; sockets and routes can choose loaded algorithms without it",
            remedy: as_root,
        },
        Requirement {
            what: "CAP_SYS_ADMIN",
            aim: Aim::Watch,
            is_met: sys_admin,
            is_essential: false,
            found: yes_or_no(sys_admin),
            why: "to enter other network namespaces; without it `status`, `top` and `unload` see only the current one",
            remedy: as_root,
        },
        Requirement {
            what: "BPF file system at /sys/fs/bpf",
            aim: Aim::Couple,
            is_met: bpffs::is_mounted(),
            is_essential: false,
            found: yes_or_no(bpffs::is_mounted()),
            why: "it keeps loaded algorithms; `braid load` mounts it if permitted",
            remedy: "mount -t bpf bpf /sys/fs/bpf",
        },
        Requirement {
            what: "MPTCP",
            aim: Aim::Bond,
            is_met: mptcp == "1",
            is_essential: false,
            found: if mptcp.is_empty() { "no".into() } else { format!("net.mptcp.enabled = {mptcp}") },
            why: "coupled congestion control couples the subflows of MPTCP; plain TCP runs the single-path base",
            remedy: "sysctl net.mptcp.enabled=1; a kernel without it needs CONFIG_MPTCP",
        },
        lists_of_sockets(),
        reading_the_loaded(),
    ];
    all.extend(experiments(&release));
    all.extend(modules(&release));
    all
}

/// What experiments and algorithms of one's own need.
fn experiments(release: &str) -> [Requirement; 2] {
    let clang = ["clang-19", "clang"].into_iter().find(|name| in_path(name));
    let netem = module::is_listed(release, "sch_netem") || kallsyms_has("netem_enqueue");
    [
        Requirement {
            what: "netem",
            aim: Aim::Other,
            is_met: netem,
            is_essential: false,
            found: if netem { "yes".into() } else { "no".into() },
            why: "delay and loss for experiments on this kernel; not needed to load algorithms or to simulate",
            remedy: "a kernel with CONFIG_NET_SCH_NETEM; Debian's cloud kernels have it",
        },
        Requirement {
            what: "clang",
            aim: Aim::Other,
            is_met: clang.is_some(),
            is_essential: false,
            found: clang.unwrap_or("no").into(),
            why: "to build braid, and to load your C files; built-in algorithms need no clang",
            remedy: "apt-get install clang",
        },
    ]
}

/// Which file is refused, not which capability might be missing.
fn reading_the_loaded() -> Requirement {
    let refused = control::loaded().err();
    Requirement {
        what: "what is loaded can be read",
        aim: Aim::Watch,
        is_met: refused.is_none(),
        is_essential: false,
        found: refused.map_or_else(|| "yes".into(), |error| error.to_string()),
        why: "`status`, `top` and `metrics` read names, parameters and counters",
        remedy: "run as root or as the user who loaded it, or with CAP_DAC_OVERRIDE",
    }
}

fn lists_of_sockets() -> Requirement {
    let listed = sockets::can_be_listed();
    Requirement {
        what: "lists of sockets (sock_diag)",
        aim: Aim::Watch,
        is_met: listed.is_ok(),
        is_essential: false,
        found: listed.err().unwrap_or_else(|| "yes".into()),
        why: "`status`, `top` and `metrics` read from them which sockets use an algorithm",
        remedy: "modprobe tcp_diag; a kernel without it needs CONFIG_INET_DIAG",
    }
}

/// What the kernel modules need besides MPTCP: that of the algorithms and that of the packet schedulers.
fn modules(release: &str) -> [Requirement; 4] {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let names = read("/proc/sys/net/mptcp/available_schedulers");
    let ours = names.split_whitespace().filter(|name| name.starts_with("braid_")).count();
    let headers = Path::new("/lib/modules").join(release).join("build/Makefile").exists();
    let installed =
        |name| if module::is_listed(release, name) { "installed, not loaded" } else { "no" }.to_owned();
    let unsigned =
        signature(&read("/sys/kernel/security/lockdown"), &read("/sys/module/module/parameters/sig_enforce"));
    let calls =
        unmarked_calls(&read("/proc/cpuinfo"), &read("/proc/cmdline"), kallsyms_has("register_kprobe"));
    let layout = module::module_layout();
    let is_loaded = layout.is_some();
    [
        Requirement {
            what: "kernel headers",
            aim: Aim::Other,
            is_met: headers,
            is_essential: false,
            found: if headers { "yes".into() } else { format!("no headers of {release}") },
            why: "to build the modules tcp_braid and braid_sched; the lab has its own",
            remedy: "apt-get install linux-headers-$(uname -r) make gcc",
        },
        Requirement {
            what: "a kernel that takes modules of one's own",
            aim: Aim::Other,
            is_met: unsigned.is_none(),
            is_essential: false,
            found: unsigned.map_or("yes", |(found, _)| found).into(),
            why: "no distribution signs tcp_braid and braid_sched",
            remedy: unsigned.map_or("", |(_, remedy)| remedy),
        },
        Requirement {
            what: "algorithms without eBPF, the module tcp_braid",
            aim: Aim::Other,
            is_met: is_loaded || module::is_installed(),
            is_essential: false,
            found: layout.map_or_else(
                || installed(MODULE),
                |layout| format!("loaded, finds MPTCP connections by: {layout}"),
            ),
            why: "the same algorithms on Linux 5.15 and newer, at less cost per ACK: `braid load --host module`",
            remedy: "apt-get install tcp-braid-dkms linux-headers-$(uname -r), see docs/kernel-module.md",
        },
        Requirement {
            what: "packet schedulers, the module braid_sched",
            aim: Aim::Other,
            is_met: ours > 0,
            is_essential: false,
            found: match (ours, calls) {
                (0, Some((reason, _))) => reason.to_owned(),
                (0, None) => installed("braid_sched"),
                (ours, _) => format!("loaded, {ours} schedulers"),
            },
            why: "schedulers of Braid for MPTCP in this kernel, by sysctl net.mptcp.scheduler",
            remedy: calls.map_or(
                "install braid-sched-dkms or see kernel/mptcp_sched, then modprobe braid_sched; Linux 6.12 or newer",
                |(_, remedy)| remedy,
            ),
        },
    ]
}

/// Which hosts this machine can use, the default first.
pub fn hosts() -> Vec<Host> {
    let bpf = doctor().iter().all(|requirement| requirement.is_met || !requirement.is_essential);
    let module = module::module_layout().is_some() || module::is_installed();
    [(bpf, Host::Bpf), (module, Host::Module)]
        .into_iter()
        .filter_map(|(is, host)| is.then_some(host))
        .collect()
}

/// Why a kernel refuses an unsigned module, and the remedy.
fn signature(lockdown: &str, enforced: &str) -> Option<(&'static str, &'static str)> {
    if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
        let remedy = "sign it: DKMS does with a key of yours, once `mokutil --import /var/lib/dkms/mok.pub` and a reboot have \
                      made it known; or switch Secure Boot off";
        return Some(("locked down (Secure Boot): signed modules only", remedy));
    }
    if enforced == "Y" {
        return Some((
            "signed modules only",
            "sign it with a key that the kernel knows, or boot without module.sig_enforce",
        ));
    }
    None
}

/// Why `braid_sched` cannot call the kernel's own functions, and what to do about it.
fn unmarked_calls(
    processor: &str,
    arguments: &str,
    has_probes: bool,
) -> Option<(&'static str, &'static str)> {
    let has_ibt = processor
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|flag| flag == "ibt"));
    if !has_probes {
        return Some((
            "no kprobes",
            "a kernel with CONFIG_KPROBES: the module uses kprobes to find functions",
        ));
    }
    if has_ibt && !arguments.split_whitespace().any(|word| word == "ibt=off") {
        return Some(("the processor checks indirect calls (IBT)", "boot with ibt=off"));
    }
    None
}

fn in_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// For kernels without [lists of modules](module::is_listed).
fn kallsyms_has(symbol: &str) -> bool {
    fs::read_to_string("/proc/kallsyms")
        .is_ok_and(|text| text.lines().any(|line| line.split_whitespace().nth(2) == Some(symbol)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_module_out_is_told_apart() {
        let flags = "processor : 0\nflags\t\t: fpu ibt sse\n";
        let unsigned = |lockdown, enforced| signature(lockdown, enforced).map(|(found, _)| found);
        assert_eq!(unsigned("[none] integrity confidentiality", "N"), None);
        assert_eq!(unsigned("", ""), None);
        assert!(unsigned("none [integrity] confidentiality", "N").unwrap().contains("Secure Boot"));
        assert_eq!(unsigned("", "Y"), Some("signed modules only"));
        let calls = |processor, arguments, probes| {
            unmarked_calls(processor, arguments, probes).map(|(found, _)| found)
        };
        assert_eq!(calls("flags: fpu", "", true), None);
        assert_eq!(calls("", "", false), Some("no kprobes"));
        assert!(calls(flags, "quiet ro", true).unwrap().contains("IBT"));
        assert_eq!(calls(flags, "quiet ibt=off", true), None);
    }
}
