//! Archives whose bytes depend on the contents alone: no times, no users, entries in the given order.

use std::io::{Cursor, Write};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// 1 January 1980, the first moment that all archive formats can store.
const TIME: u64 = 315_532_800;

const PROGRAM_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// A file or folder of an archive.
#[derive(Debug, Clone)]
pub struct Entry {
    path: String,
    kind: EntryType,
    mode: u32,
    owner: u64,
    bytes: Vec<u8>,
}

impl Entry {
    /// A file that everybody can read.
    pub fn file(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), kind: EntryType::Regular, mode: FILE_MODE, owner: 0, bytes }
    }

    /// A file that everybody can run.
    pub fn program(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { mode: PROGRAM_MODE, ..Self::file(path, bytes) }
    }

    /// A folder that everybody can read.
    pub fn folder(path: &str) -> Self {
        let path = format!("{}/", path.trim_end_matches('/'));
        Self { kind: EntryType::Directory, mode: PROGRAM_MODE, ..Self::file(path, Vec::new()) }
    }

    /// The same with another mode and another owner, who is the group, too.
    pub fn owned_by(self, owner: u64, mode: u32) -> Self {
        Self { owner, mode, ..self }
    }

    /// The path in the archive.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The content of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A tar archive.
pub fn tar(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        header.set_mtime(TIME);
        header.set_size(entry.bytes.len().try_into()?);
        builder.append_data(&mut header, &entry.path, entry.bytes.as_slice())?;
    }
    Ok(builder.into_inner()?)
}

/// Compresses bytes.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// A zip archive; folders are left out.
pub fn zip(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries.iter().filter(|it| it.kind == EntryType::Regular) {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(entry.mode);
        writer.start_file(entry.path.as_str(), options)?;
        writer.write_all(&entry.bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::{Entry, gzip, tar, zip};

    fn entries() -> [Entry; 3] {
        [Entry::folder("a").owned_by(10_001, 0o700), Entry::file("a/text", b"hello".to_vec()), Entry::program("a/program", vec![0; 9_000])]
    }

    #[test]
    fn tar_keeps_modes_and_owners() {
        let bytes = tar(&entries()).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                let header = entry.header();
                (entry.path().unwrap().display().to_string(), header.mode().unwrap(), header.uid().unwrap(), content.len())
            })
            .collect();
        let expected = [("a/", 0o700, 10_001, 0), ("a/text", 0o644, 0, 5), ("a/program", 0o755, 0, 9_000)];
        assert_eq!(found, expected.map(|(path, mode, owner, length)| (path.to_owned(), mode, owner, length)));
    }

    #[test]
    fn zip_keeps_modes() {
        let mut archive = zip::ZipArchive::new(Cursor::new(zip(&entries()).unwrap())).unwrap();
        let found: Vec<_> = (0..archive.len())
            .map(|at| {
                let file = archive.by_index(at).unwrap();
                (file.name().unwrap().into_owned(), file.unix_mode().unwrap() & 0o777, file.size())
            })
            .collect();
        assert_eq!(found, [("a/text".to_owned(), 0o644, 5), ("a/program".to_owned(), 0o755, 9_000)]);
    }

    #[test]
    fn equal_contents_give_equal_bytes() {
        let pack = || (gzip(&tar(&entries()).unwrap()).unwrap(), zip(&entries()).unwrap());
        assert_eq!(pack(), pack());
    }
}
