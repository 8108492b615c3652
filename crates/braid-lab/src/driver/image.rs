//! The guest's boot image: a small file system in memory with this program as its only process.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    path::Path,
};

use braid_study::Stop;
use cpio::newc::{Builder, ModeFileType, trailer};
use object::{
    Endianness,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader as _, ProgramHeader as _},
};

use super::{error, kernels::Kernel, libraries::needed};
use crate::job::MODULES;

/// Path of this program in the guest.
pub(crate) const PROGRAM: &str = "/braid";

/// By path: mode and content.
pub(crate) type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// Builds the archive for this kernel around `program`, with what the program needs to start, and with `others`.
pub(crate) fn build(kernel: &Kernel, program: &Path, others: &Files) -> Result<Vec<u8>, Stop> {
    let mut files = others.clone();
    files.insert(PROGRAM.into(), (0o755, loaded_part(fs::read(program).map_err(error::reading(program))?)));
    for library in needed(program)? {
        let bytes = loaded_part(fs::read(&library).map_err(error::reading(&library))?);
        files.insert(library.display().to_string(), (0o755, bytes));
    }
    let mut list = String::new();
    for (name, bytes) in &kernel.modules {
        files.insert(format!("{MODULES}/{name}"), (0o644, bytes.clone()));
        list.extend([name, "\n"]);
    }
    files.insert(format!("{MODULES}/list"), (0o644, list.into_bytes()));
    archive(&files).map_err(|error| error::machine(format!("cannot build the guest's image: {error}")))
}

fn archive(files: &Files) -> io::Result<Vec<u8>> {
    let mut folders = BTreeSet::new();
    for path in files.keys() {
        for folder in Path::new(path).ancestors().skip(1).filter(|folder| folder.as_os_str() != "/") {
            folders.insert(folder.display().to_string());
        }
    }
    folders.insert("/dev".into());
    let mut out = Vec::new();
    let mut inode = 1;
    let mut entry = |out: &mut Vec<u8>, path: &str, mode: u32, kind, bytes: &[u8]| -> io::Result<()> {
        inode += 1;
        let builder = Builder::new(path.trim_start_matches('/'))
            .ino(inode)
            .mode(mode)
            .set_mode_file_type(kind)
            .nlink(1);
        let mut writer = builder.write(out, bytes.len() as u32);
        writer.write_all(bytes)?;
        writer.finish().map(drop)
    };
    for folder in &folders {
        entry(&mut out, folder, 0o755, ModeFileType::Directory, &[])?;
    }
    // The console must exist before the first process.
    inode_of_console(&mut out)?;
    for (path, (mode, bytes)) in files {
        entry(&mut out, path, *mode, ModeFileType::Regular, bytes)?;
    }
    trailer(&mut out)?;
    Ok(out)
}

fn inode_of_console(out: &mut Vec<u8>) -> io::Result<()> {
    let builder = Builder::new("dev/console")
        .ino(1)
        .mode(0o600)
        .set_mode_file_type(ModeFileType::Char)
        .rdev_major(5)
        .rdev_minor(1)
        .nlink(1);
    builder.write(out, 0).finish().map(drop)
}

/// The loaded part of a program, without trailing sections such as debug information.
fn loaded_part(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = FileHeader64::<Endianness>::parse(&bytes[..]).ok().and_then(|header| {
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &bytes[..]).ok()?;
        let loaded = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
        loaded.map(|segment| segment.p_offset(endian) + segment.p_filesz(endian)).max()
    });
    if let Some(end) = end {
        bytes.truncate(end as usize);
        // Removes the section table: e_shoff, e_shnum and e_shstrndx.
        bytes[0x28..0x30].fill(0);
        bytes[0x3c..0x40].fill(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_left_of_a_program_still_runs() {
        let program = fs::read("/bin/true").unwrap();
        let part = loaded_part(program.clone());
        assert!(part.len() < program.len(), "something was left out");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("true");
        fs::write(&path, part).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(Command::new(&path).status().unwrap().success());
    }

    #[test]
    fn the_archive_holds_folders_before_what_is_in_them() {
        let files = BTreeMap::from([("/a/b/c".to_owned(), (0o644, b"text".to_vec()))]);
        let archive = archive(&files).unwrap();
        let mut rest = &archive[..];
        let mut names = Vec::new();
        loop {
            let reader = cpio::NewcReader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            names.push(reader.entry().name().to_owned());
            rest = reader.finish().unwrap();
        }
        assert_eq!(names, ["a", "a/b", "dev", "dev/console", "a/b/c"]);
    }
}
