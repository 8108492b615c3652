//! Constants shared by the image of a guest and the program in it.

/// The name of the item of QEMU's firmware configuration that holds the [`Job`].
pub(crate) const JOB_ITEM: &str = "opt/org.braid/job";
/// Error of a guest whose clock moved while it was stopped: it has to restart.
pub(crate) const CLOCK_MOVED: &str = "the clock moved on while the guest was stopped";
/// Written by the guest to its debug console when it is ready, and at each second of the run.
pub(crate) const BEAT: u8 = b'.';
/// Sent before a user's algorithm is loaded, because the verifier may never end.
pub(crate) const VERIFIES: u8 = b'v';
/// Sent once the algorithm is loaded.
pub(crate) const VERIFIED: u8 = b'!';
/// Folder of the modules in the image, with a list of them.
pub(crate) const MODULES: &str = "/modules";
/// Module that gives access to the job; loaded last, so that the job is read after the snapshot.
pub(crate) const JOB_MODULE: &str = "qemu_fw_cfg.ko";
/// The packet scheduler module, if the image has it.
pub(crate) const SCHEDULER_MODULE: &str = "braid_sched.ko";
