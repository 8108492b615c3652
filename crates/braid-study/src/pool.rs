//! Independent pieces of work on several threads, their results in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::Cancel;

/// Between two ticks.
const TICK: Duration = Duration::from_millis(100);

/// What the caller's thread does during the runs.
pub(crate) trait Caller<T> {
    /// Gets a result as soon as it is there, in any order, with its number.
    fn ready(&mut self, number: usize, result: &T);
    /// Gets the results one after the other in order.
    fn each(&mut self, result: T) -> ControlFlow<()>;
    /// Called ten times a second and after each result, with the number of results that are there.
    fn tick(&mut self, done: usize) -> ControlFlow<()>;
}

/// Does `work(own, 0)`, ... `work(own, count - 1)` on `jobs` threads; `own` is what `begin` gives each for itself, on that thread,
/// from its number.
///
/// Ends early once it is cancelled or the caller breaks: nothing new is begun, and what has begun is waited for. After a
/// break the caller gets nothing more; after a cancellation it gets what continues the order without a gap.
pub(crate) fn in_order<W, T: Send>(
    count: usize,
    jobs: usize,
    cancel: &Cancel,
    begin: impl Fn(usize) -> W + Sync,
    work: impl Fn(&mut W, usize) -> T + Sync,
    caller: &mut impl Caller<T>,
) {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let (next, begin, work) = (&next, &begin, &work);
    thread::scope(|scope| {
        for worker in 0..jobs.min(count) {
            let sender = sender.clone();
            let work = move || {
                let mut own = begin(worker);
                while !cancel.is_cancelled() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || sender.send((index, work(&mut own, index))).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new()
                .name("braid-run".to_owned())
                .spawn_scoped(scope, work)
                .expect("the system gives a thread");
        }
        drop(sender);

        // Owned here: gone at the end of this closure, before the workers are waited for. Without a receiver no worker
        // takes up anything new.
        let results = results;
        let mut early = BTreeMap::new();
        let mut delivered = 0;
        loop {
            match results.recv_timeout(TICK) {
                Ok((index, result)) => {
                    caller.ready(index, &result);
                    early.insert(index, result);
                    while let Some(result) = early.remove(&delivered) {
                        delivered += 1;
                        if caller.each(result).is_break() {
                            return;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if caller.tick(delivered + early.len()).is_break() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has enough after `enough` results.
    struct Collector {
        results: Vec<usize>,
        enough: usize,
    }

    impl Caller<usize> for Collector {
        fn ready(&mut self, number: usize, result: &usize) {
            assert_eq!(number * number, *result);
        }

        fn each(&mut self, result: usize) -> ControlFlow<()> {
            self.results.push(result);
            if self.results.len() == self.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }

        fn tick(&mut self, done: usize) -> ControlFlow<()> {
            assert!(done >= self.results.len());
            ControlFlow::Continue(())
        }
    }

    fn collect(count: usize, jobs: usize, enough: usize) -> Vec<usize> {
        let work = |(): &mut (), index: usize| {
            // Later ones are ready first.
            thread::sleep(Duration::from_millis((count - index) as u64 % 4));
            index * index
        };
        let mut collector = Collector { results: Vec::new(), enough };
        in_order(count, jobs, &Cancel::new(), |_| (), work, &mut collector);
        collector.results
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
    fn nothing_new_begins_once_cancelled() {
        let cancel = Cancel::new();
        let begun = AtomicUsize::new(0);
        let work = |(): &mut (), index| {
            begun.fetch_add(1, Ordering::Relaxed);
            if index >= 3 {
                cancel.cancel();
            }
            index * index
        };
        let mut collector = Collector { results: Vec::new(), enough: usize::MAX };
        in_order(1000, 1, &cancel, |_| (), work, &mut collector);
        assert_eq!(begun.load(Ordering::Relaxed), 4);
        assert_eq!(collector.results, [0, 1, 4, 9]);
    }
}
