//! Names of lines: of `/etc/braid/lines.conf`, else the interface or address that tells the paths of a connection apart.

use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;

use super::model::Subflow;
use crate::Failure;

pub(crate) const FILE: &str = "/etc/braid/lines.conf";

/// Name, address and length of each prefix; the longest prefix first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<(String, IpAddr, u32)>);

impl Lines {
    /// The configured names; none without the file.
    pub(crate) fn read() -> Result<Self, Failure> {
        match fs::read_to_string(FILE) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => {
                Err(Failure::bad_input(format!("{FILE}: {error}"), "make it readable, or remove it"))
            }
        }
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            lines.push(line.split_once('=').and_then(|(name, prefix)| entry(name, prefix)).ok_or_else(|| {
                Failure::bad_input(
                    format!("{FILE}:{number}: `{line}` gives no name to addresses"),
                    "write `wan1 = 203.0.113.7/32`: a name without spaces, and an address with the length of its prefix",
                )
            })?);
        }
        lines.sort_by_key(|(.., length)| std::cmp::Reverse(*length));
        Ok(Self(lines))
    }

    /// The name of the longest prefix with one of the addresses, the first address preferred.
    pub(crate) fn name(&self, addresses: &[IpAddr]) -> Option<&str> {
        let has = |(_, prefix, length): &&(String, IpAddr, u32)| {
            addresses.iter().any(|address| holds(*prefix, *length, *address))
        };
        self.0.iter().find(has).map(|(name, ..)| name.as_str())
    }

    /// Those of the addresses that are on the line; `None` if no line has that name.
    pub(crate) fn on<'a>(
        &self,
        name: &str,
        addresses: impl Iterator<Item = &'a IpAddr>,
    ) -> Option<Vec<IpAddr>> {
        self.0
            .iter()
            .any(|(own, ..)| own == name)
            .then(|| addresses.filter(|address| self.name(&[**address]) == Some(name)).copied().collect())
    }

    /// Names the lines of a connection's subflows.
    pub(super) fn apply(&self, subflows: &mut [Subflow]) {
        let names: Vec<String> = subflows.iter().map(|subflow| self.of(subflow, subflows)).collect();
        for (subflow, name) in subflows.iter_mut().zip(names) {
            subflow.line = name;
        }
    }

    fn of(&self, subflow: &Subflow, all: &[Subflow]) -> String {
        let ends = |subflow: &Subflow| (subflow.local.ip(), subflow.remote.ip());
        let (local, remote) = ends(subflow);
        if let Some(name) = self.name(&[remote, local]) {
            return name.to_owned();
        }
        let others = || all.iter().filter(|other| ends(other) != (local, remote));
        if others().any(|other| other.local.ip() == local) {
            return remote.to_string();
        }
        match &subflow.interface {
            Some(interface) if others().all(|other| other.interface != subflow.interface) => {
                interface.clone()
            }
            _ => local.to_string(),
        }
    }
}

fn entry(name: &str, prefix: &str) -> Option<(String, IpAddr, u32)> {
    let (address, length) =
        prefix.trim().split_once('/').map_or((prefix.trim(), None), |(a, b)| (a, Some(b)));
    let address = address.parse::<IpAddr>().ok()?.to_canonical();
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(most), |length| length.parse().ok())?;
    let name = name.trim();
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ',' || c == '"');
    (is_name && length <= most).then(|| (name.to_owned(), address, length))
}

fn holds(prefix: IpAddr, length: u32, address: IpAddr) -> bool {
    match (prefix, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= length,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= length,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::subflow;
    use super::*;

    #[test]
    fn the_longest_prefix_names_a_line_and_a_bad_entry_is_named_with_its_number() {
        let lines =
            Lines::parse("# two\nall = 0.0.0.0/0\nwan1 = 203.0.113.7/32\nsix=2001:db8::/32\n").unwrap();
        let name = |text: &str| lines.name(&[text.parse().unwrap()]);
        assert_eq!(name("203.0.113.7"), Some("wan1"));
        assert_eq!(name("203.0.113.8"), Some("all"));
        assert_eq!(name("2001:db8:1::1"), Some("six"));
        assert_eq!(name("fd00::1"), None);
        let here = ["203.0.113.7".parse().unwrap(), "10.0.0.1".parse().unwrap()];
        assert_eq!(lines.on("wan1", here.iter()), Some(vec![here[0]]));
        assert_eq!(lines.on("wan2", here.iter()), None);
        for wrong in ["wan1", "wan1 = eth0", "wan 1 = 10.0.0.1", "a = 10.0.0.1/33", "= 10.0.0.1"] {
            let error = Lines::parse(&format!("\n{wrong}")).unwrap_err().to_string();
            assert!(error.contains("lines.conf:2") && error.contains("wan1 = 203"), "{wrong}: {error}");
        }
    }

    #[test]
    fn paths_are_told_apart_by_what_differs() {
        let names = |ends: [(&str, &str, &str); 2], lines: &str| {
            let mut both = [subflow(1), subflow(2)];
            for (subflow, (interface, local, remote)) in both.iter_mut().zip(ends) {
                subflow.interface = Some(interface.into()).filter(|text: &String| !text.is_empty());
                subflow.local.set_ip(local.parse().unwrap());
                subflow.remote.set_ip(remote.parse().unwrap());
            }
            Lines::parse(lines).unwrap().apply(&mut both);
            both.map(|subflow| subflow.line).join(" ")
        };
        let (a, b) = ("10.0.0.1", "10.0.0.2");
        assert_eq!(names([("eth0", a, "192.0.2.1"), ("eth1", b, "192.0.2.1")], ""), "eth0 eth1");
        let server = [("eth0", a, "192.0.2.1"), ("eth0", a, "192.0.2.2")];
        assert_eq!(names(server, ""), "192.0.2.1 192.0.2.2");
        assert_eq!(names(server, "wan1 = 192.0.2.1"), "wan1 192.0.2.2");
        assert_eq!(names([("eth0", a, "192.0.2.1"), ("eth0", b, "192.0.2.1")], ""), "10.0.0.1 10.0.0.2");
        assert_eq!(names([("eth0", a, "192.0.2.1"), ("eth0", a, "192.0.2.1")], ""), "eth0 eth0");
        assert_eq!(names([("", a, "192.0.2.1"), ("eth1", b, "192.0.2.1")], ""), "10.0.0.1 eth1");
    }
}
