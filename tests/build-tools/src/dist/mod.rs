//! Packs the built program for the ways in which people install it. Equal inputs give equal bytes.

mod archive;
mod bill_of_materials;
mod container;
mod debian;
mod dependencies;
mod npm;
mod wheel;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use self::archive::{Entry, gzip, tar};
use self::dependencies::Dependencies;

/// The version of all packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One sentence for all package indexes.
pub const SUMMARY: &str = "A deterministic conversation engine, configured by tables or flow documents";

/// The changelog's first released version is that of the packages.
const CHANGELOG: &str = "CHANGELOG.md";

/// A platform that the program is built for, and what the package systems call it.
pub struct Platform {
    /// The target of the compiler.
    pub target: &'static str,
    /// The architecture of Debian's packages.
    pub debian: &'static str,
    /// The architecture of container images.
    pub container: &'static str,
    /// The processor of npm.
    pub npm: &'static str,
    /// The machine of Python's wheels.
    pub python: &'static str,
    /// The dynamic linker, as the program names it.
    pub linker: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        container: "amd64",
        npm: "x64",
        python: "x86_64",
        linker: "/lib64/ld-linux-x86-64.so.2",
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        container: "arm64",
        npm: "arm64",
        python: "aarch64",
        linker: "/lib/ld-linux-aarch64.so.1",
    },
];

/// The program for a platform.
pub struct Program {
    /// The platform.
    pub platform: &'static Platform,
    /// The bytes of the program.
    pub bytes: Vec<u8>,
    /// The folder with the libraries of the platform that the program is linked to.
    pub libraries: PathBuf,
}

impl Program {
    /// Reads `TARGET=PROGRAM=LIBRARIES`.
    fn read(word: &str) -> Result<Self> {
        let mut parts = word.splitn(3, '=');
        let (Some(target), Some(path), Some(libraries)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("expected TARGET=PROGRAM=LIBRARIES, not '{word}'");
        };
        let platform = PLATFORMS.iter().find(|it| it.target == target).with_context(|| format!("no packages are made for '{target}'"))?;
        Ok(Self { platform, bytes: read(Path::new(path))?, libraries: PathBuf::from(libraries) })
    }

    /// The oldest minor version of glibc 2 that has all symbols of the program.
    pub fn glibc(&self) -> Result<u32> {
        newest_glibc(&self.bytes).context("expected a program that is linked to glibc")
    }
}

/// The texts that belong into each package.
pub struct Texts {
    /// The licence of the product.
    pub licence: Vec<u8>,
    /// The licences of everything that is linked in.
    pub notices: Vec<u8>,
    /// The first page of the documentation.
    pub readme: String,
}

/// Makes all packages of `programs`, each `TARGET=PROGRAM=LIBRARIES`, in the empty folder `to`.
pub fn pack(to: &Path, programs: &[&str]) -> Result<()> {
    let programs: Vec<Program> = programs.iter().map(|word| Program::read(word)).collect::<Result<_>>()?;
    let dependencies = Dependencies::read()?;
    let texts = Texts {
        licence: read(Path::new("LICENSE"))?,
        notices: dependencies.notices()?.into_bytes(),
        readme: String::from_utf8(read(Path::new("README.md"))?).context("expected UTF-8 in 'README.md'")?,
    };
    let folder = Folder { path: to.to_path_buf() };
    for program in &programs {
        folder.write(&format!("convengine-{VERSION}-{}.tar.gz", program.platform.target), &plain_archive(program, &texts)?)?;
        folder.write(&format!("convengine_{VERSION}_{}.deb", program.platform.debian), &debian::pack(program, &texts)?)?;
        folder.write(&wheel::name(program)?, &wheel::pack(program, &texts)?)?;
        folder.write(&npm::platform_package_file(program.platform), &npm::pack_platform(program, &texts)?)?;
    }
    folder.write(&format!("convengine-server-{VERSION}.tgz"), &npm::pack_launcher(&texts)?)?;
    folder.write(&format!("convengine-{VERSION}-oci.tar"), &container::pack(&programs, &texts)?)?;
    folder.write(&format!("convengine-{VERSION}.cdx.json"), bill_of_materials::describe(&dependencies)?.as_bytes())?;
    folder.write("THIRD-PARTY.txt", &texts.notices)?;
    folder.write("RELEASE-NOTES.md", release_notes(&fs::read_to_string(CHANGELOG)?)?.as_bytes())
}

/// Writes the checksums of all files of a folder, as `sha256sum --check` reads them.
pub fn write_checksums(folder: &Path) -> Result<()> {
    const NAME: &str = "SHA256SUMS";
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read '{}'", folder.display()))? {
        let name = entry?.file_name().into_string().map_err(|it| anyhow::anyhow!("expected a name in UTF-8, not {it:?}"))?;
        names.extend((name != NAME).then_some(name));
    }
    names.sort();
    let mut lines = String::new();
    for name in names {
        writeln!(lines, "{}  {name}", sha256(&read(&folder.join(&name))?))?;
    }
    fs::write(folder.join(NAME), lines)?;
    Ok(())
}

struct Folder {
    path: PathBuf,
}

impl Folder {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.path.join(name), bytes).with_context(|| format!("cannot write '{name}'"))?;
        println!("{:>10.1} MB  {name}", megabytes(bytes.len()));
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a file is smaller than 2^52 bytes")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// The program in a folder, for those who copy it to a place of their own.
fn plain_archive(program: &Program, texts: &Texts) -> Result<Vec<u8>> {
    let folder = format!("convengine-{VERSION}-{}", program.platform.target);
    let file = |name: &str, bytes: &[u8]| Entry::file(format!("{folder}/{name}"), bytes.to_vec());
    gzip(&tar(&[
        Entry::folder(&folder),
        file("LICENSE", &texts.licence),
        file("README.md", texts.readme.as_bytes()),
        file("THIRD-PARTY.txt", &texts.notices),
        Entry::program(format!("{folder}/convengine"), program.bytes.clone()),
        file("convengine.service", &read(Path::new("packaging/convengine.service"))?),
    ])?)
}

/// The changelog's section of this version.
fn release_notes(changelog: &str) -> Result<String> {
    let heading = format!("## {VERSION}");
    let mut lines = changelog.lines().skip_while(|line| !line.starts_with(&heading));
    let first = lines.next().with_context(|| format!("'{CHANGELOG}' has no section '{heading}'"))?;
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Ok(format!("# ConvEngine {}\n{}\n", first.trim_start_matches("## "), section.join("\n").trim_end()))
}

/// The newest minor version among names such as `GLIBC_2.34` in a program.
fn newest_glibc(program: &[u8]) -> Option<u32> {
    const PREFIX: &[u8] = b"GLIBC_2.";
    let versions = program.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX).filter_map(|(at, _)| {
        let digits: Vec<u8> = program[at + PREFIX.len()..].iter().copied().take_while(u8::is_ascii_digit).collect();
        String::from_utf8(digits).ok()?.parse().ok()
    });
    versions.max()
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read '{}'", path.display()))
}

/// The SHA-256 hash of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Creates an empty folder, or fails when it holds something.
pub fn create_empty(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    ensure!(fs::read_dir(folder)?.next().is_none(), "'{}' is not empty", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{VERSION, newest_glibc, release_notes};

    #[test]
    fn the_newest_symbol_says_which_glibc_is_needed() {
        assert_eq!(newest_glibc(b"..GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_PRIVATE"), Some(34));
        assert_eq!(newest_glibc(b"nothing"), None);
    }

    #[test]
    fn release_notes_are_the_section_of_the_version() {
        let changelog = format!("# Changelog\n\n## Unreleased\n\n* x\n\n## {VERSION} – 2026-12-01\n\n* a\n* b\n\n## 0.0.9\n\n* c\n");
        assert_eq!(release_notes(&changelog).unwrap(), format!("# ConvEngine {VERSION} – 2026-12-01\n\n* a\n* b\n"));
        assert!(release_notes("# Changelog\n").is_err());
    }
}
