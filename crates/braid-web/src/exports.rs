//! The functions that a page calls. A WebAssembly module has one thread, and each worker its own module.

use std::cell::RefCell;

use crate::request::Desk;

#[derive(Default)]
struct State {
    desk: Desk,
    request: Vec<u8>,
    answer: Vec<u8>,
    rows: Vec<f64>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(f: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(f)
}

/// Allocates a request of that many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn braid_room(bytes: usize) -> *mut u8 {
    with(|state| {
        state.request.clear();
        state.request.resize(bytes, 0);
        state.request.as_mut_ptr()
    })
}

/// Answers the stored request; returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn braid_call() -> usize {
    with(|state| {
        let request = String::from_utf8_lossy(&state.request);
        state.answer = state.desk.answer(&request).into_bytes();
        state.answer.len()
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn braid_answer() -> *const u8 {
    with(|state| state.answer.as_ptr())
}

/// [`crate::Live::advance`]; returns the number of values.
#[unsafe(no_mangle)]
pub extern "C" fn braid_advance(slot: usize, until_s: f64, every_s: f64) -> usize {
    with(|state| {
        state.rows.clear();
        if let Some(live) = state.desk.live(slot) {
            live.advance(until_s, every_s, &mut state.rows);
        }
        state.rows.len()
    })
}

/// [`crate::Live::ack`]; returns the number of values, 0 at the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn braid_ack(slot: usize) -> usize {
    with(|state| {
        state.rows.clear();
        if let Some(live) = state.desk.live(slot) {
            live.ack(&mut state.rows);
        }
        state.rows.len()
    })
}

/// Address of these values.
#[unsafe(no_mangle)]
pub extern "C" fn braid_rows() -> *const f64 {
    with(|state| state.rows.as_ptr())
}
