//! A package for Debian and its relatives.

use std::path::Path;

use anyhow::Result;

use super::archive::{Entry, gzip, tar};
use super::{Program, SUMMARY, Texts, VERSION, read};

/// The package: the program, the service of systemd, which is not started, and the licences.
pub fn pack(program: &Program, texts: &Texts) -> Result<Vec<u8>> {
    let service = String::from_utf8(read(Path::new("packaging/convengine.service"))?)?;
    let doc = "./usr/share/doc/convengine";
    let files = [
        Entry::program("./usr/bin/convengine", program.bytes.clone()),
        // The unit in the sources is for programs that were copied by hand.
        Entry::file("./usr/lib/systemd/system/convengine.service", service.replace("/usr/local/bin/", "/usr/bin/").into_bytes()),
        Entry::file(format!("{doc}/copyright"), texts.licence.clone()),
        Entry::file(format!("{doc}/THIRD-PARTY.txt"), texts.notices.clone()),
    ];
    let control = control(program, &files)?;
    let mut archive = ar::Builder::new(Vec::new());
    for (name, bytes) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&[Entry::folder("./"), Entry::file("./control", control.into_bytes())])?)?),
        ("data.tar.gz", gzip(&tar(&with_folders(&files))?)?),
    ] {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len().try_into()?);
        header.set_mode(0o100_644);
        archive.append(&header, bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

fn control(program: &Program, files: &[Entry]) -> Result<String> {
    let kilobytes = files.iter().map(|it| it.bytes().len()).sum::<usize>().div_ceil(1024);
    Ok(format!(
        "Package: convengine\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: ConvEngine contributors\n\
         Installed-Size: {kilobytes}\n\
         Depends: libc6 (>= 2.{}), libgcc-s1\n\
         Section: net\n\
         Priority: optional\n\
         Description: {SUMMARY}\n \
         The server, its page, and the tools: init, dev, lint, test, replay and more.\n",
        program.platform.debian,
        program.glibc()?,
    ))
}

/// The files after the folders in which they are: `dpkg` removes only folders that the package names.
fn with_folders(files: &[Entry]) -> Vec<Entry> {
    let mut folders: Vec<String> = files
        .iter()
        .flat_map(|it| it.path().match_indices('/').map(|(at, _)| it.path().split_at(at + 1).0.to_owned()).collect::<Vec<_>>())
        .collect();
    folders.sort();
    folders.dedup();
    folders.iter().map(|it| Entry::folder(it)).chain(files.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::with_folders;
    use crate::dist::archive::Entry;

    #[test]
    fn each_folder_comes_before_its_files() {
        let files = [Entry::file("./usr/bin/a", Vec::new()), Entry::file("./usr/share/b", Vec::new())];
        let paths: Vec<String> = with_folders(&files).iter().map(|it| it.path().to_owned()).collect();
        assert_eq!(paths, ["./", "./usr/", "./usr/bin/", "./usr/share/", "./usr/bin/a", "./usr/share/b"]);
    }
}
