//! A Python wheel that installs the program as a command.

use std::fmt::Write;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::archive::{Entry, zip};
use super::{Program, SUMMARY, Texts, VERSION};

/// The name of the file, which says to `pip` where it can be installed.
pub fn name(program: &Program) -> Result<String> {
    Ok(format!("convengine-{VERSION}-{}.whl", tag(program)?))
}

/// The wheel.
pub fn pack(program: &Program, texts: &Texts) -> Result<Vec<u8>> {
    let info = format!("convengine-{VERSION}.dist-info");
    let wheel = format!("Wheel-Version: 1.0\nGenerator: convengine\nRoot-Is-Purelib: false\nTag: {}\n", tag(program)?);
    let metadata = format!(
        "Metadata-Version: 2.4\nName: convengine\nVersion: {VERSION}\nSummary: {SUMMARY}\nLicense-Expression: MIT\n\
         License-File: LICENSE\nLicense-File: THIRD-PARTY.txt\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
        texts.readme
    );
    let mut files = vec![
        Entry::program(format!("convengine-{VERSION}.data/scripts/convengine"), program.bytes.clone()),
        Entry::file(format!("{info}/METADATA"), metadata.into_bytes()),
        Entry::file(format!("{info}/WHEEL"), wheel.into_bytes()),
        Entry::file(format!("{info}/licenses/LICENSE"), texts.licence.clone()),
        Entry::file(format!("{info}/licenses/THIRD-PARTY.txt"), texts.notices.clone()),
    ];
    files.push(record(&info, &files)?);
    zip(&files)
}

/// The list of files with hashes and lengths; its own line has neither.
fn record(info: &str, files: &[Entry]) -> Result<Entry> {
    let path = format!("{info}/RECORD");
    let mut lines = String::new();
    for file in files {
        writeln!(lines, "{},sha256={},{}", file.path(), URL_SAFE_NO_PAD.encode(Sha256::digest(file.bytes())), file.bytes().len())?;
    }
    writeln!(lines, "{path},,")?;
    Ok(Entry::file(path, lines.into_bytes()))
}

fn tag(program: &Program) -> Result<String> {
    Ok(format!("py3-none-manylinux_2_{}_{}", program.glibc()?, program.platform.python))
}
