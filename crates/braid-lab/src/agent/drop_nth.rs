//! Periodic loss, which netem does not have: an extra stage with a counting filter. `matchall` has the action `gact`,
//! which takes another action every n-th time. It counts to 65535; two in a row count to the product.

use std::io::{self, ErrorKind};

use braid_kernel::netlink::{CREATE, EXCL, Message};

const NEW_FILTER: u16 = 44;
/// Actions, `TC_ACT_*`.
const PASS: i32 = 0;
const DROP: i32 = 2;
const ASK_NEXT: i32 = 3;

/// The stage with a queue and the filter: `struct tc_prio_qopt` with the minimum of bands, all packets in the first.
pub(super) fn stage(message: &mut Message) {
    const BANDS: i32 = 2;
    let mut options = [0; 20];
    options[..4].copy_from_slice(&BANDS.to_ne_bytes());
    message.attribute(2, &options);
}

/// Sets the filter of that stage of an interface.
pub(super) fn filter(interface: u32, stage: u32, counters: [u16; 2]) -> Message {
    /// Of all kinds of packets, `ETH_P_ALL`.
    const ALL: u16 = 3;
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&interface.to_ne_bytes());
    header[12..16].copy_from_slice(&stage.to_ne_bytes());
    header[16..20].copy_from_slice(&((1 << 16) | u32::from(ALL.to_be())).to_ne_bytes());
    let mut message = Message::new(NEW_FILTER, CREATE | EXCL, &header);
    message.text(1, "matchall").nested(2, |options| {
        options.nested(2, |actions| {
            let [first, second] = counters;
            actions.nested(1, |action| count(action, first, if second > 1 { ASK_NEXT } else { DROP }));
            if second > 1 {
                actions.nested(2, |action| count(action, second, DROP));
            }
        });
    });
    message
}

/// `gact`: passes all packets, and every n-th time takes another action.
fn count(action: &mut Message, every: u16, then: i32) {
    /// Deterministic counting, `PGACT_DETERM`.
    const COUNTED: u16 = 2;
    action.text(1, "gact").nested(2, |options| {
        // `struct tc_gact` and `struct tc_gact_p`
        options.attribute(2, [0, 0, PASS, 0, 0].map(i32::to_ne_bytes).as_flattened()).nested(3, |own| {
            own.raw([COUNTED, every].map(u16::to_ne_bytes).as_flattened()).raw(&then.to_ne_bytes());
        });
    });
}

/// Explains the kernel's refusal of the filter.
pub(super) fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Unsupported => io::Error::other(
            "the kernel cannot drop every n-th packet (modules cls_matchall and act_gact, CONFIG_GACT_PROB)",
        ),
        _ => error,
    }
}
