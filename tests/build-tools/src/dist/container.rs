//! A container image for all platforms, as an archive in the image layout of the Open Container Initiative. No daemon is needed to make it.
//!
//! The image holds the program, the libraries of the C library that it is linked to, and nothing that could be run beside it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::archive::{Entry, gzip, tar};
use super::{Program, SUMMARY, Texts, VERSION, sha256};

/// Who runs in the container.
const USER: u64 = 10_001;

/// What the program is linked to. The C library reads names of hosts by itself.
const LIBRARIES: [&str; 3] = ["libc.so.6", "libgcc_s.so.1", "libm.so.6"];

/// A tar archive that `podman load`, `skopeo copy oci-archive:…` and registries read.
pub fn pack(programs: &[Program], texts: &Texts) -> Result<Vec<u8>> {
    let mut blobs = Blobs::default();
    let mut manifests = Vec::new();
    for program in programs {
        let mut descriptor = image(program, texts, &mut blobs)?;
        descriptor["platform"] = json!({"architecture": program.platform.container, "os": "linux"});
        descriptor["annotations"] = json!({"org.opencontainers.image.ref.name": VERSION});
        manifests.push(descriptor);
    }
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests});
    let mut entries = vec![
        Entry::file("oci-layout", serde_json::to_vec(&json!({"imageLayoutVersion": "1.0.0"}))?),
        Entry::file("index.json", serde_json::to_vec(&index)?),
        Entry::folder("blobs"),
        Entry::folder("blobs/sha256"),
    ];
    entries.extend(blobs.entries);
    tar(&entries)
}

/// Adds the image of a platform; returns the descriptor of its manifest.
fn image(program: &Program, texts: &Texts, blobs: &mut Blobs) -> Result<Value> {
    let layer = tar(&root(program, texts)?)?;
    let config = json!({
        "architecture": program.platform.container,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": {"8080/tcp": {}},
            "Env": ["PATH=/usr/bin", "CONVENGINE_DATABASE=sqlite:/data/convengine.db", "CONVENGINE_LISTEN=0.0.0.0:8080"],
            "Entrypoint": ["/usr/bin/convengine"],
            "Cmd": ["serve"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "convengine",
                "org.opencontainers.image.description": SUMMARY,
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))]},
    });
    let layer = blobs.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip(&layer)?);
    let config = blobs.add("application/vnd.oci.image.config.v1+json", serde_json::to_vec(&config)?);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    Ok(blobs.add(media_type, serde_json::to_vec(&manifest)?))
}

/// The files of the image.
fn root(program: &Program, texts: &Texts) -> Result<Vec<Entry>> {
    let linker = program.platform.linker.trim_start_matches('/');
    let linker_folder = linker.split('/').next().unwrap_or_default();
    let mut entries: Vec<Entry> = ["etc", "lib", "lib64", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/convengine"]
        .into_iter()
        .filter(|folder| *folder != "lib64" || linker_folder == "lib64")
        .map(Entry::folder)
        .collect();
    entries.push(Entry::folder("tmp").owned_by(0, 0o1777));
    entries.push(Entry::folder("data").owned_by(USER, 0o700));
    entries.push(Entry::file("etc/passwd", format!("convengine:x:{USER}:{USER}::/data:/sbin/nologin\n").into_bytes()));
    entries.push(Entry::file("etc/group", format!("convengine:x:{USER}:\n").into_bytes()));
    entries.push(Entry::file("etc/nsswitch.conf", b"hosts: files dns\n".to_vec()));
    entries.push(Entry::program("usr/bin/convengine", program.bytes.clone()));
    entries.push(Entry::file("usr/share/doc/convengine/LICENSE", texts.licence.clone()));
    entries.push(Entry::file("usr/share/doc/convengine/THIRD-PARTY.txt", texts.notices.clone()));
    let name = Path::new(linker).file_name().context("expected a dynamic linker with a name")?.to_string_lossy().into_owned();
    entries.push(Entry::program(linker, library(program, &name)?));
    for name in LIBRARIES {
        entries.push(Entry::program(format!("lib/{name}"), library(program, name)?));
    }
    Ok(entries)
}

fn library(program: &Program, name: &str) -> Result<Vec<u8>> {
    let path = program.libraries.join(name);
    fs::read(&path).with_context(|| format!("cannot read the library '{}'", path.display()))
}

/// Contents that are named by their hashes.
#[derive(Default)]
struct Blobs {
    entries: Vec<Entry>,
}

impl Blobs {
    /// Adds a content; returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let hash = sha256(&bytes);
        let descriptor = json!({"mediaType": media_type, "digest": format!("sha256:{hash}"), "size": bytes.len()});
        self.entries.push(Entry::file(format!("blobs/sha256/{hash}"), bytes));
        descriptor
    }
}
