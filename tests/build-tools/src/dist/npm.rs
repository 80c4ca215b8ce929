//! Packages of npm: `@convengine/server`, whose command starts the program of a platform package.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::archive::{Entry, gzip, tar};
use super::{PLATFORMS, Platform, Program, SUMMARY, Texts, VERSION, read};

/// The name of the package of a platform.
fn platform_package(platform: &Platform) -> String {
    format!("@convengine/server-linux-{}", platform.npm)
}

/// The file of the package of a platform, named as `npm pack` does.
pub fn platform_package_file(platform: &Platform) -> String {
    format!("convengine-server-linux-{}-{VERSION}.tgz", platform.npm)
}

/// The package with the program of a platform; npm installs it on that platform alone.
pub fn pack_platform(program: &Program, texts: &Texts) -> Result<Vec<u8>> {
    let manifest = json!({
        "name": platform_package(program.platform),
        "version": VERSION,
        "description": format!("The program of @convengine/server for Linux on {}", program.platform.npm),
        "license": "MIT",
        "os": ["linux"],
        "cpu": [program.platform.npm],
        "libc": ["glibc"],
        "files": ["bin/convengine", "THIRD-PARTY.txt"],
    });
    pack(&manifest, vec![Entry::program("package/bin/convengine", program.bytes.clone())], texts)
}

/// The package that people install.
pub fn pack_launcher(texts: &Texts) -> Result<Vec<u8>> {
    let platforms: serde_json::Map<String, Value> =
        PLATFORMS.iter().map(|platform| (platform_package(platform), Value::from(VERSION))).collect();
    let manifest = json!({
        "name": "@convengine/server",
        "version": VERSION,
        "description": SUMMARY,
        "license": "MIT",
        "type": "module",
        "bin": {"convengine": "convengine.js"},
        "files": ["convengine.js", "THIRD-PARTY.txt"],
        "engines": {"node": ">=20"},
        "optionalDependencies": platforms,
    });
    pack(&manifest, vec![Entry::program("package/convengine.js", read(Path::new("packaging/npm/convengine.js"))?)], texts)
}

fn pack(manifest: &Value, files: Vec<Entry>, texts: &Texts) -> Result<Vec<u8>> {
    let mut entries = vec![
        Entry::file("package/package.json", (serde_json::to_string_pretty(manifest)? + "\n").into_bytes()),
        Entry::file("package/LICENSE", texts.licence.clone()),
        Entry::file("package/README.md", read(Path::new("packaging/npm/README.md"))?),
        Entry::file("package/THIRD-PARTY.txt", texts.notices.clone()),
    ];
    entries.extend(files);
    gzip(&tar(&entries)?)
}
