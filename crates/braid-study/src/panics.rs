//! A panic as a message.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// `Some` while [`caught`] is active on this thread: the message of the last panic.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The value, or the message and place of the panic, which is not printed. Panics elsewhere are handled as usual.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let place = info.location().map(|at| format!(" ({at})")).unwrap_or_default();
            let is_ours = MESSAGE.with_borrow_mut(|message| {
                message.as_mut().map(|message| *message = format!("panic: {text}{place}")).is_some()
            });
            if !is_ours {
                others(info);
            }
        }));
    });
    MESSAGE.set(Some(String::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let message = MESSAGE.take().unwrap_or_default();
    done.map_err(|_| message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_message_with_its_place() {
        assert_eq!(caught(|| 3), Ok(3));
        let message = caught(|| panic!("one is odd")).unwrap_err();
        assert!(message.starts_with("panic: one is odd (") && message.contains("panics.rs:"), "{message}");
        assert_eq!(caught(|| 4), Ok(4));
    }
}
