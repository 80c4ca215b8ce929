//! Makes what people install: `cargo xtask dist`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::{self, CrossCompiler};
use crate::project::Project;
use crate::{build_tools, npm, page, sh};

/// The profile of cargo.
const PROFILE: &str = "dist";

/// What programs embed: the core, and the crates that it is made of.
const CRATES: [&str; 11] = [
    "convengine-config",
    "convengine-core",
    "convengine-derive",
    "convengine-flow",
    "convengine-lint",
    "convengine-pack",
    "convengine-tables",
    "convengine-text",
    "convengine-turn",
    "convengine-understanding",
    "convengine-values",
];

/// A platform that the program is built for.
struct Target {
    name: &'static str,
    /// What the programs of the platform's C compiler begin with.
    gcc: &'static str,
}

const TARGETS: [Target; 2] = [
    Target { name: "x86_64-unknown-linux-gnu", gcc: "x86_64-linux-gnu" },
    Target { name: "aarch64-unknown-linux-gnu", gcc: "aarch64-linux-gnu" },
];

/// Builds the program for each of the targets, or for this machine, and packs it into `target/dist`.
pub fn make(project: &Project, targets: &[&str]) -> Result<()> {
    let host = host_target(project)?;
    let chosen = if targets.is_empty() { vec![host.as_str()] } else { targets.to_vec() };
    page::build(project)?;
    npm::assemble(project)?;
    sh::run(&mut build_tools::compile(project))?;
    let mut programs = Vec::new();
    for name in chosen {
        let target = TARGETS.iter().find(|it| it.name == name).with_context(|| {
            let known: Vec<&str> = TARGETS.iter().map(|it| it.name).collect();
            format!("no packages are made for '{name}'; known are {}", known.join(" and "))
        })?;
        let program = build_program(project, target, target.name != host)?;
        programs.push(format!("{name}={}={}", program.display(), libraries(target)?.display()));
    }
    let folder = folder(project);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    sh::print_progress("packing the program");
    sh::run(build_tools::command(project).arg("dist").arg(&folder).args(&programs))?;
    npm::copy_package(project, &folder)?;
    package_crates(project, &folder)?;
    sh::run(build_tools::command(project).arg("checksums").arg(&folder))?;
    println!("{}", folder.display());
    Ok(())
}

/// Packs the crates of the core as they are published, and compiles them from the packages.
fn package_crates(project: &Project, to: &Path) -> Result<()> {
    sh::print_progress("packing the crates");
    let mut command = project.cargo(&["package", "--locked", "--allow-dirty"]);
    for name in CRATES {
        command.args(["--package", name]);
    }
    sh::run(&mut command)?;
    for name in CRATES {
        let file = format!("{name}-{}.crate", env!("CARGO_PKG_VERSION"));
        let packed = project.target.join("package").join(&file);
        fs::copy(&packed, to.join(&file)).with_context(|| format!("cannot copy '{}'", packed.display()))?;
    }
    Ok(())
}

/// Returns the folder of the packages.
fn folder(project: &Project) -> PathBuf {
    project.target.join("dist")
}

fn host_target(project: &Project) -> Result<String> {
    let version = sh::output(project.command("rustc").arg("-vV")).context("no rustc; install Rust with rustup")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not name its host")?;
    Ok(host.to_owned())
}

/// Builds the program; returns its path.
fn build_program(project: &Project, target: &Target, is_foreign: bool) -> Result<PathBuf> {
    sh::print_progress(&format!("building the server for {}", target.name));
    let arguments = ["build", "--profile", PROFILE, "--locked", "--package", "convengine-server", "--target", target.name];
    let mut command = if is_foreign {
        let compiler = install::ensure_cross_compiler(project, target.name, target.gcc)?;
        cross_cargo(project, target, &compiler, &arguments)
    } else {
        project.cargo(&arguments)
    };
    // A path of this machine in the program would make each machine's build another one.
    command.env("RUSTFLAGS", remaps(project)?.join(" "));
    sh::run(&mut command)?;
    Ok(project.target.join(target.name).join(PROFILE).join("convengine"))
}

fn cross_cargo(project: &Project, target: &Target, compiler: &CrossCompiler, arguments: &[&str]) -> Command {
    let mut command = match compiler {
        CrossCompiler::Active => project.cargo(arguments),
        CrossCompiler::Distribution => {
            let mut command = install::distribution_cargo(project, arguments);
            command.args(["-Z", "build-std=std,panic_unwind"]).env("RUSTC_BOOTSTRAP", "1");
            // Another compiler would not find its own output again beside that of the native one.
            command.env("CARGO_TARGET_DIR", &project.target);
            command
        }
    };
    let name = target.name.replace('-', "_");
    let gcc = format!("{}-gcc", target.gcc);
    command.env(format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), &gcc);
    command.env(format!("CC_{name}"), &gcc).env(format!("AR_{name}"), format!("{}-ar", target.gcc));
    command
}

/// The folder of the libraries that the C compiler of a platform links.
fn libraries(target: &Target) -> Result<PathBuf> {
    let gcc = format!("{}-gcc", target.gcc);
    let file = sh::output(Command::new(&gcc).arg("-print-file-name=libc.so.6")).with_context(|| format!("no {gcc}"))?;
    let file = fs::canonicalize(&file).with_context(|| format!("{gcc} does not find its C library"))?;
    Ok(file.parent().unwrap_or(Path::new("/")).to_path_buf())
}

/// Flags of the compiler that give folders of this machine names that are the same everywhere.
fn remaps(project: &Project) -> Result<[String; 3]> {
    let home = |variable: &str, folder: &str| match std::env::var_os(variable) {
        Some(path) => Ok(PathBuf::from(path)),
        None => std::env::home_dir().map(|it| it.join(folder)).context("no home folder"),
    };
    let remap = |path: &Path, name: &str| format!("--remap-path-prefix={}={name}", path.display());
    let cargo = home("CARGO_HOME", ".cargo")?;
    if [&project.root, &project.target, &cargo].iter().any(|it| it.to_string_lossy().contains(' ')) {
        bail!("the folders of the sources, of the target and of cargo must not contain spaces");
    }
    // The last match counts.
    Ok([remap(&cargo, "/cargo"), remap(&project.root, "/convengine"), remap(&project.target, "/target")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflow_compares_the_api_of_what_is_packed() {
        let workflow = include_str!("../../../.github/workflows/ci.yml");
        // Macros have no items of which it could tell.
        for name in CRATES.iter().filter(|it| **it != "convengine-derive") {
            assert!(workflow.split_whitespace().any(|word| word == *name), "add {name} to the job 'semver'");
        }
    }
}
