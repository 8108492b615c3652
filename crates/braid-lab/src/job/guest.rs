//! What the image of a guest and the program in it agree on.

/// The name of the item of QEMU's firmware configuration that holds the [`Job`].
pub(crate) const JOB_ITEM: &str = "opt/org.braid/job";
/// Why a guest fails whose clock did not stand still while it was stopped: it has to begin again.
pub(crate) const CLOCK_MOVED: &str = "the clock moved on while the guest was stopped";
/// Where the image has the modules, and the list of them.
pub(crate) const MODULES: &str = "/modules";
/// What gives access to the job; it comes last, so that the job is looked for after the snapshot.
pub(crate) const JOB_MODULE: &str = "qemu_fw_cfg.ko";
/// The module with the packet schedulers, if the image has it.
pub(crate) const SCHEDULER_MODULE: &str = "braid_sched.ko";
