//! The tenants of the cluster: one for each pack, with a database and services of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use convengine_core::pack::Pack;
use convengine_core::turn::STUB_ADDRESS;
use convengine_host_base::pack_file;
use convengine_player::fake_http::{CallRecorder, serve_recorded};
use tokio::runtime::Runtime;

use super::RestateSoak;
use crate::soak::database::Database;
use crate::soak::pack_path;
use crate::soak::talk::Talk;

/// A pack of the load.
#[derive(Debug)]
pub(super) struct LoadPack {
    /// The tenant.
    tenant: &'static str,
    /// The name of the file.
    name: &'static str,
    /// The models that its script plays, as an option of the server.
    models: Option<&'static str>,
    /// What is done with it.
    use_as: Use,
}

/// What is done with a pack.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    /// Its conversation is repeated.
    Talk {
        /// The part of an answer that says that a call is in doubt.
        doubt_text: &'static str,
    },
    /// Runs of its chain are started.
    Chain {
        /// The chain.
        slug: &'static str,
    },
}

/// The packs: writes of every kind, a conversation with models, tasks and a webhook, and a chain, whose effects are invocations of their own.
pub(super) const PACKS: [LoadPack; 4] = [
    LoadPack {
        tenant: "writes",
        name: "tools/writes_in_doubt",
        models: None,
        use_as: Use::Talk { doubt_text: "ERROR the server stopped before the answer was known" },
    },
    LoadPack { tenant: "desk", name: "demo/help_desk", models: Some("scripted:"), use_as: Use::Talk { doubt_text: "the server stopped" } },
    LoadPack {
        tenant: "tasks",
        name: "tools/workflow_and_notification",
        models: Some("mcp_plan=scripted:"),
        use_as: Use::Talk { doubt_text: "status=ERROR" },
    },
    LoadPack { tenant: "errands", name: "chain/errands", models: None, use_as: Use::Chain { slug: "errand" } },
];

/// A tenant with its conversation.
pub(super) struct Tenant {
    /// The name.
    pub name: &'static str,
    /// What is done with its pack.
    pub use_as: Use,
    /// The conversation, with the answers of the undisturbed run; of a chain empty.
    pub talk: Talk,
    /// The calls of its services.
    pub calls: CallRecorder,
    /// The database.
    pub database: Database,
    services: Option<SocketAddr>,
    pack: Pack,
    /// The script of its models.
    models: Option<String>,
}

impl Tenant {
    /// Starts the services of a pack, and imports it into a new database.
    pub fn new(load: &LoadPack, soak: &RestateSoak<'_>, folder: &Path, runtime: &Runtime) -> Result<Tenant> {
        let text = pack_file::read_text(&pack_path(load.name))?;
        let pack = Pack::parse(&text)?;
        let talk = match load.use_as {
            Use::Talk { .. } => Talk::from_pack(&pack, 0)?,
            Use::Chain { .. } => Talk { turns: Vec::new() },
        };
        let calls = CallRecorder::default();
        let services = if pack.http.is_empty() { None } else { Some(serve_recorded(runtime, pack.http.clone(), calls.clone())?) };
        let file: PathBuf = folder.join(load.tenant).with_extension("json");
        std::fs::write(&file, services.map_or(text.clone(), |address| text.replace(STUB_ADDRESS, &format!("http://{address}"))))?;
        let database = soak.database.create_database()?;
        let imported = Command::new(soak.convengine).arg("import").arg(&file).args(["--database", database.url()]).output()?;
        ensure!(imported.status.success(), "cannot import {}: {}", load.name, String::from_utf8_lossy(&imported.stderr));
        let models = load.models.map(|option| format!("{option}{}", file.display()));
        Ok(Tenant { name: load.tenant, use_as: load.use_as, talk, calls, database, services, pack, models })
    }
}

/// Returns the options of servers and workers.
pub(super) fn options(tenants: &[Tenant]) -> Vec<String> {
    let mut options = Vec::new();
    let services: Vec<String> = tenants.iter().filter_map(|tenant| Some(tenant.services?.to_string())).collect();
    let mut set = vec![format!("convengine.network.allow-private={}", services.join(","))];
    set.push("convengine.assistants.simulator-rpm=0".to_owned());
    for Tenant { name, database, pack, models, .. } in tenants {
        set.push(format!("convengine.tenants.{name}.database={}", database.url()));
        let groups = pack.settings.as_object().into_iter().flatten();
        set.extend(groups.map(|(group, tree)| format!("convengine.tenants.{name}.{group}={tree}")));
        options.extend(models.iter().flat_map(|model| ["--llm".to_owned(), model.clone()]));
    }
    options.extend(set.into_iter().flat_map(|it| ["--set".to_owned(), it]));
    options
}
