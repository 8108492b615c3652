//! Independent pieces of work on several threads, their results in order.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::Failure;
use crate::failure::{FAILED, INTERRUPTED};

const WORKER: &str = "braid-run";

/// Set by the first signal, which ends the work in good order; a second one ends it at once.
pub(crate) fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let signal = Arc::clone(&stop);
    let handler = move || {
        if signal.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::new(FAILED, format!("signals: {error}")))?;
    Ok(stop)
}

/// Does `work(0)`, `work(1)`, ... `work(count - 1)` on `jobs` threads. `each` gets the results one after the other
/// in that order, whatever the order they become ready in; `tick` is called at least ten times a second with the number
/// that are done.
///
/// Ends early once `stop` is set or `each` breaks: what has begun is finished. After a break `each` is not called any
/// more; after a stop it gets what continues the order without a gap.
pub(crate) fn in_order<T: Send>(
    count: usize,
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(usize) -> T + Sync,
    mut each: impl FnMut(T) -> ControlFlow<()>,
    mut tick: impl FnMut(usize),
) {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let (next, work) = (&next, &work);
    thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            let sender = sender.clone();
            let worker = move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || sender.send((index, work(index))).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new()
                .name(WORKER.to_owned())
                .spawn_scoped(scope, worker)
                .expect("the system gives a thread");
        }
        drop(sender);

        // Owned here: gone at the end of this closure, before the workers are waited for.
        let results = results;
        let mut early = BTreeMap::new();
        let mut delivered = 0;
        loop {
            match results.recv_timeout(Duration::from_millis(100)) {
                Ok((index, result)) => {
                    early.insert(index, result);
                    while let Some(result) = early.remove(&delivered) {
                        delivered += 1;
                        if each(result).is_break() {
                            // Without a receiver no worker takes up anything new.
                            return;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            tick(delivered + early.len());
        }
    });
}

thread_local! {
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// From now on a panic of a worker is kept for [`caught`] and not printed.
pub(crate) fn keep_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() == Some(WORKER) {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let place = info.location().map(|at| format!(" ({at})")).unwrap_or_default();
            PANIC.set(Some(format!("panic: {text}{place}")));
        } else {
            print(info);
        }
    }));
}

/// The value, or the message of the panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| PANIC.take().unwrap_or_else(|| "panic".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(count: usize, jobs: usize, until: usize) -> Vec<usize> {
        let mut results = Vec::new();
        let work = |index: usize| {
            // Later ones are ready first.
            thread::sleep(Duration::from_millis((count - index) as u64 % 4));
            index * index
        };
        let each = |result| {
            results.push(result);
            if results.len() == until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        in_order(count, jobs, &AtomicBool::new(false), work, each, |_| ());
        results
    }

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        let expected: Vec<usize> = (0..40).map(|index| index * index).collect();
        for jobs in [1, 2, 7, 100] {
            assert_eq!(collect(40, jobs, usize::MAX), expected);
        }
        assert!(collect(0, 3, usize::MAX).is_empty());
    }

    #[test]
    fn nothing_is_delivered_after_the_reader_has_enough() {
        assert_eq!(collect(40, 3, 5), [0, 1, 4, 9, 16]);
    }

    #[test]
    fn nothing_new_begins_once_stopped() {
        let stop = AtomicBool::new(false);
        let begun = AtomicUsize::new(0);
        let work = |index| {
            begun.fetch_add(1, Ordering::Relaxed);
            stop.store(index >= 3, Ordering::Relaxed);
        };
        in_order(1000, 1, &stop, work, |()| ControlFlow::Continue(()), |_| ());
        assert_eq!(begun.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn a_panic_is_a_message() {
        keep_panics();
        let mut results = Vec::new();
        let work = |index: usize| caught(|| assert!(index != 1, "one is odd"));
        let each = |result: Result<(), String>| {
            results.push(result);
            ControlFlow::Continue(())
        };
        in_order(3, 2, &AtomicBool::new(false), work, each, |_| ());
        assert_eq!((&results[0], &results[2]), (&Ok(()), &Ok(())));
        let message = results[1].as_ref().unwrap_err();
        assert!(message.starts_with("panic: one is odd (") && message.contains("pool.rs:"), "{message}");
    }
}
