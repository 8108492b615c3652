//! What the image of a guest and the program in it agree on.

/// The name of the item of QEMU's firmware configuration that holds the [`Job`].
pub(crate) const JOB_ITEM: &str = "opt/org.braid/job";
/// Why a guest fails whose clock did not stand still while it was stopped: it has to begin again.
pub(crate) const CLOCK_MOVED: &str = "the clock moved on while the guest was stopped";
/// What the guest writes to its debug console when it is ready, and at each second of the run.
pub(crate) const BEAT: u8 = b'.';
/// And when it gives a user's algorithm to its kernel, whose verifier may take for ever.
pub(crate) const VERIFIES: u8 = b'v';
/// And when that is done.
pub(crate) const VERIFIED: u8 = b'!';
/// Where the image has the modules, and the list of them.
pub(crate) const MODULES: &str = "/modules";
/// What gives access to the job; it comes last, so that the job is looked for after the snapshot.
pub(crate) const JOB_MODULE: &str = "qemu_fw_cfg.ko";
/// The module with the packet schedulers, if the image has it.
pub(crate) const SCHEDULER_MODULE: &str = "braid_sched.ko";
