//! The Rust mirror of the contract has the memory layout that the C compiler gives `braid.h`.

use std::ffi::{CStr, c_char};
use std::mem::{offset_of, size_of, size_of_val};

use braid_algorithms::layout::{Event, Subflow, View};

#[repr(C)]
struct Field {
    name: *const c_char,
    offset: u64,
    size: u64,
}

unsafe extern "C" {
    static braid_probe_fields: Field;
}

/// Name, offset and size of every field in C.
fn c_fields() -> Vec<(String, usize, usize)> {
    let mut fields = Vec::new();
    let mut field = &raw const braid_probe_fields;
    // SAFETY: native/probe.c ends the table with a row without a name.
    unsafe {
        while !(*field).name.is_null() {
            let name = CStr::from_ptr((*field).name).to_str().unwrap().to_owned();
            fields.push((name, (*field).offset as usize, (*field).size as usize));
            field = field.add(1);
        }
    }
    fields
}

macro_rules! fields {
    ($type:ty, $c:literal, $($field:ident $(as $name:literal)?),*) => {{
        let value = <$type>::default();
        let mut rows = vec![($c.to_owned(), 0, size_of::<$type>())];
        $(
            #[allow(unused_mut, unused_assignments)]
            let mut name = stringify!($field);
            $(name = $name;)?
            rows.push((format!("{}.{name}", $c), offset_of!($type, $field), size_of_val(&value.$field)));
        )*
        rows
    }};
}

#[test]
fn rust_and_c_agree_on_every_field() {
    let mut rust = fields!(
        Subflow,
        "subflow",
        cwnd,
        ssthresh,
        ca_state,
        flags,
        srtt_us,
        min_rtt_us,
        last_rtt_us,
        mss,
        in_flight,
        prior_cwnd,
        cwnd_clamp,
        delivered,
        delivered_ce,
        lost,
        id,
        hint,
        snd_una,
        snd_nxt,
        last_ack_us,
        pacing_rate,
        public_words
    );
    rust.extend(fields!(View, "view", connection, n, self_index as "self", subflow));
    rust.extend(fields!(
        Event, "event", now_us, kind as "type", cause, flags, acked, grow, acked_bytes, rtt_us, idle_us, owd_us,
        rate_delivered, rate_interval_us, rate_prior_delivered, rate_losses, prior_in_flight
    ));
    assert_eq!(rust, c_fields());
}

#[test]
fn no_structure_has_padding() {
    let fields = c_fields();
    for whole in ["subflow", "view", "event"] {
        let size = fields.iter().find(|field| field.0 == whole).unwrap().2;
        let prefix = format!("{whole}.");
        let sum: usize =
            fields.iter().filter(|field| field.0.starts_with(&prefix)).map(|field| field.2).sum();
        assert_eq!(sum, size, "{whole}");
    }
}
