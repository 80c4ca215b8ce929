//! The packages of `cargo xtask dist`, made of a small program and installed by the tools that people use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use convengine_test_macros::test;
use convengine_tests::{client_test_python, root, server_binary};
use serde_json::Value;
use sha2::{Digest, Sha256};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Says what it was called with. The comment is what a program that is linked to glibc has in it.
const PROGRAM: &str = "#!/bin/sh\n# GLIBC_2.34\necho \"convengine of a package: $*\"\n";

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The program that packs, which is built beside the server.
fn build_tools() -> Command {
    Command::new(server_binary().unwrap().with_file_name("build-tools"))
}

/// Makes the packages in a temporary folder.
fn make() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (program, libraries) = (folder.path().join("convengine"), folder.path().join("libraries"));
    fs::write(&program, PROGRAM).unwrap();
    fs::create_dir(&libraries).unwrap();
    for name in ["libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2"] {
        fs::write(libraries.join(name), name).unwrap();
    }
    let packages = folder.path().join("dist");
    let what = format!("{TARGET}={}={}", program.display(), libraries.display());
    run(build_tools().current_dir(root()).arg("dist").arg(&packages).arg(what));
    run(build_tools().arg("checksums").arg(&packages));
    folder
}

/// Runs a command; returns what it prints.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

fn package(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join("dist").join(name.replace("VERSION", VERSION))
}

fn unpack(archive: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(to));
}

#[test]
#[on(no_database)]
fn equal_programs_give_equal_packages() {
    let (one, other) = (make(), make());
    let sums = |folder: &tempfile::TempDir| fs::read_to_string(package(folder, "SHA256SUMS")).unwrap();
    assert_eq!(sums(&one), sums(&other));
    assert!(sums(&one).lines().count() >= 9, "{}", sums(&one));
    run(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(one.path().join("dist")));
}

#[test]
#[on(no_database)]
fn the_archive_and_the_package_of_debian_hold_the_program() {
    let folder = make();
    let place = folder.path().join("unpacked");
    unpack(&package(&folder, &format!("convengine-VERSION-{TARGET}.tar.gz")), &place);
    let program = place.join(format!("convengine-{VERSION}-{TARGET}/convengine"));
    assert_eq!(run(Command::new(program).arg("lint")), "convengine of a package: lint\n");

    let deb = package(&folder, "convengine_VERSION_amd64.deb");
    let control = run(Command::new("dpkg-deb").arg("--field").arg(&deb));
    for line in ["Package: convengine", &format!("Version: {VERSION}"), "Depends: libc6 (>= 2.34), libgcc-s1"] {
        assert!(control.lines().any(|it| it == line), "{control}");
    }
    let installed = folder.path().join("installed");
    run(Command::new("dpkg-deb").arg("--extract").arg(&deb).arg(&installed));
    assert_eq!(run(Command::new(installed.join("usr/bin/convengine")).arg("serve")), "convengine of a package: serve\n");
    let unit = fs::read_to_string(installed.join("usr/lib/systemd/system/convengine.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/convengine serve"), "{unit}");
}

#[test]
#[on(no_database)]
fn pip_installs_the_wheel() {
    let folder = make();
    let environment = folder.path().join("python");
    run(Command::new(client_test_python().unwrap()).args(["-m", "venv"]).arg(&environment));
    let wheel = package(&folder, "convengine-VERSION-py3-none-manylinux_2_34_x86_64.whl");
    run(Command::new(environment.join("bin/python")).args(["-m", "pip", "install", "--no-index", "--quiet"]).arg(wheel));
    assert_eq!(run(Command::new(environment.join("bin/convengine")).args(["test", "a b"])), "convengine of a package: test a b\n");
}

#[test]
#[on(no_database)]
fn npx_runs_the_program_of_the_platform() {
    let folder = make();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("package.json"), "{\"name\": \"project\", \"private\": true}").unwrap();
    let mut install = Command::new("npm");
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--omit=optional"]).current_dir(&project);
    run(install.arg(package(&folder, "convengine-server-VERSION.tgz")).arg(package(&folder, "convengine-server-linux-x64-VERSION.tgz")));
    let mut npx = Command::new("npx");
    npx.args(["--offline", "convengine", "lint", "a b"]).current_dir(&project);
    assert_eq!(run(&mut npx), "convengine of a package: lint a b\n");

    fs::remove_dir_all(project.join("node_modules/@convengine/server-linux-x64")).unwrap();
    let output = Command::new("npx").args(["--offline", "convengine"]).current_dir(&project).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("@convengine/server-linux-x64 is not installed"), "{stderr}");
}

#[test]
#[on(no_database)]
fn the_image_is_a_valid_layout() {
    let folder = make();
    let layout = folder.path().join("layout");
    unpack(&package(&folder, "convengine-VERSION-oci.tar"), &layout);
    let read = |descriptor: &Value| {
        let hash = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
        let bytes = fs::read(layout.join("blobs/sha256").join(&hash)).unwrap();
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((found, descriptor["size"].as_u64()), (hash, Some(bytes.len() as u64)));
        bytes
    };
    let json = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    assert_eq!(index["manifests"][0]["platform"]["architecture"], "amd64");
    let manifest = json(&read(&index["manifests"][0]));
    let config = json(&read(&manifest["config"]));
    assert_eq!(config["config"]["User"], "10001:10001");
    let layer = folder.path().join("layer.tar.gz");
    fs::write(&layer, read(&manifest["layers"][0])).unwrap();
    let listed = run(Command::new("tar").args(["--list", "--verbose", "--numeric-owner", "-f"]).arg(&layer));
    let entries: BTreeMap<&str, &str> = listed.lines().filter_map(|line| Some((line.rsplit_once(' ')?.1, line))).collect();
    for (path, start) in [
        ("usr/bin/convengine", "-rwxr-xr-x 0/0"),
        ("lib64/ld-linux-x86-64.so.2", "-rwxr-xr-x 0/0"),
        ("lib/libc.so.6", "-rwxr-xr-x 0/0"),
        ("data/", "drwx------ 10001/10001"),
        ("tmp/", "drwxrwxrwt 0/0"),
    ] {
        assert!(entries.get(path).is_some_and(|line| line.starts_with(start)), "{path} in\n{listed}");
    }
}

#[test]
#[on(no_database)]
fn the_bill_of_materials_names_what_is_linked_in() {
    let folder = make();
    let bill: Value = serde_json::from_slice(&fs::read(package(&folder, "convengine-VERSION.cdx.json")).unwrap()).unwrap();
    let names: Vec<&str> = bill["components"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["axum", "tokio", "sqlx-sqlite", "wasmtime", "monty", "font-awesome-as-a-crate", "svelte", "@codemirror/state"] {
        assert!(names.contains(&name), "{name}");
    }
    // What macros and tests use is not in the program.
    for name in ["syn", "tar", "playwright-core", "vite", "convengine-core"] {
        assert!(!names.contains(&name), "{name}");
    }
    let notices = fs::read_to_string(package(&folder, "THIRD-PARTY.txt")).unwrap();
    assert!(names.iter().all(|name| notices.contains(name)) && notices.contains("Permission is hereby granted"));
}
