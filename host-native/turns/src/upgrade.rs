//! Migration of open sessions to newer versions of their assistant, and its dry run. (docs/spec/flows.md#13)

use std::sync::Arc;

use convengine_content::Content;
use convengine_core::config::Config;
use convengine_core::config::flow::DocumentIssue;
use convengine_core::config::flow::document::VersionPolicy;
use convengine_core::flow::{MigrationKind, migrate};
use convengine_core::turn::{LoadedSession, UserEvent};
use convengine_storage::assistant::session::{self, Session};
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft};
use convengine_storage::run_blocking;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Turns;

/// The page size of the dry run.
const PAGE_SIZE: i64 = 200;

/// The smallest id.
const MIN_ID: &str = "00000000-0000-0000-0000-000000000000";

/// A version that a session migrates to, if possible.
#[derive(Debug, Clone)]
pub struct Upgrade {
    target: Arc<Config>,
    version: i64,
    /// The model that has embedded the phrases of its intents.
    phrase_vectors: Option<String>,
}

/// An [`Upgrade`] by the snapshot of its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpgradeTarget {
    /// The hash of the snapshot.
    pub snapshot: String,
    version: i64,
    phrase_vectors: Option<String>,
}

impl Upgrade {
    /// Returns the live version if it differs from the session's and the version policy allows migration.
    pub async fn find(content: &Content, stored: &Session, config: &Config) -> sqlx::Result<Option<Upgrade>> {
        let policy = config.flow().map(|it| it.document.settings.version_policy);
        let (Some(own), Some(VersionPolicy::MigrateAtRoot | VersionPolicy::MigrateEager)) = (stored.version, policy) else {
            return Ok(None);
        };
        let live = draft::find_assistant(&content.readers, stored.program.as_str()).await?.and_then(|it| it.live_version);
        let Some(live) = live.filter(|it| *it != own) else { return Ok(None) };
        let Some(found) = content.versions.load(&content.readers, &stored.program, live).await? else { return Ok(None) };
        // Documents of other kinds start on bundles.
        let id = found.version.filter(|_| stored.program.kind() == DocumentKind::Assistant);
        if let Some(target) = id.as_ref().and_then(|it| content.versions.find_config(it)) {
            return Ok(Some(Upgrade { target, version: live, phrase_vectors: None }));
        }
        let to = content.flows.compile_and_store(content, Arc::unwrap_or_clone(found.document)).await?;
        if let (Some(to), Some(id)) = (&to, &id) {
            content.versions.keep_config(id, to);
        }
        Ok(to.map(|to| Upgrade { target: to, version: live, phrase_vectors: None }))
    }

    /// Returns the upgrade with the model that has embedded the phrases of its document.
    pub async fn with_phrase_vectors(self, turns: &Arc<Turns>) -> sqlx::Result<Upgrade> {
        let phrase_vectors = turns.content.phrase_vectors.find_model(&turns.content, &self.target, true).await?;
        Ok(Upgrade { phrase_vectors, ..self })
    }

    /// Returns what another process needs to apply the upgrade.
    pub fn target(&self) -> UpgradeTarget {
        let snapshot = self.target.hash_source().to_owned();
        UpgradeTarget { snapshot, version: self.version, phrase_vectors: self.phrase_vectors.clone() }
    }

    /// Returns the upgrade to a target whose snapshot was loaded.
    pub fn to_target(target: UpgradeTarget, config: Arc<Config>) -> Upgrade {
        Upgrade { target: config, version: target.version, phrase_vectors: target.phrase_vectors }
    }

    /// Migrates a session. Returns the document it runs on afterwards, or `None` when it stays on its version.
    pub fn apply(&self, from: &Config, session: &mut LoadedSession, event: &mut UserEvent) -> Option<Arc<Config>> {
        let state = session.flow.as_deref()?;
        let (old, new) = (from.flow()?, self.target.flow()?);
        let found = migrate(old, new, &self.target.source()["flow"], &format!("sha256:{}", self.target.hash_source()), state);
        if found.kind == MigrationKind::Pinned {
            return None;
        }
        session.flow = Some(Arc::new(found.state));
        let members = event.flow.as_deref_mut()?.as_object_mut()?;
        members.insert("version".to_owned(), json!(self.version));
        members.insert("migrated".to_owned(), found.report);
        members.shift_remove("phrase_vectors");
        members.extend(self.phrase_vectors.as_ref().map(|model| ("phrase_vectors".to_owned(), json!(model))));
        Some(Arc::clone(&self.target))
    }
}

/// The effect of publishing a document on the open sessions of its assistant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DryRun {
    /// The number of open sessions on published versions.
    pub sessions: u64,
    /// Sessions that continue at their current node.
    pub map: u64,
    /// Sessions that repeat their current prompt.
    pub reask: u64,
    /// Sessions that stay on their version.
    pub stay: u64,
    /// Sessions that stay because their current node cannot be mapped.
    #[serde(skip)]
    pub unmappable: u64,
}

impl DryRun {
    /// Migrates all open sessions to a document without storing the result.
    pub async fn run(content: &Content, program: &ProgramKey, document: &Value) -> sqlx::Result<DryRun> {
        let mut counted = DryRun::default();
        let Ok(to) = Config::from_flow(document) else { return Ok(counted) };
        let to = Arc::new(to);
        let mut after = MIN_ID.to_owned();
        loop {
            let found = session::list_open(&content.readers, program.as_str(), &after, PAGE_SIZE).await?;
            let Some((last, _)) = found.last() else { return Ok(counted) };
            after.clone_from(last);
            let mut pairs = Vec::with_capacity(found.len());
            for (_, stored) in found {
                let from = content.flows.load(content, &stored.snapshot).await?;
                pairs.push((from, stored.state));
            }
            let to = Arc::clone(&to);
            let passages =
                run_blocking(move || pairs.iter().map(|(from, state)| simulate_migration(from.as_deref(), &to, state)).collect::<Vec<_>>())
                    .await?;
            for (passage, is_lost) in passages {
                counted.sessions += 1;
                counted.unmappable += u64::from(is_lost);
                match passage {
                    MigrationKind::Mapped => counted.map += 1,
                    MigrationKind::Reasked => counted.reask += 1,
                    MigrationKind::Pinned => counted.stay += 1,
                }
            }
        }
    }

    /// Returns a warning when some sessions do not continue at their current node.
    pub fn warning(&self) -> Option<DocumentIssue> {
        let of = self.sessions;
        let message = format!(
            "some open sessions cannot continue at their current node (open: {of}, continue: {}, repeat their prompt: {}, stay on their \
             version: {}, node removed: {})",
            self.map, self.reask, self.stay, self.unmappable
        );
        let fix = "declare moved nodes and variables in 'meta.migrations', or wait until the sessions end";
        (self.reask + self.unmappable > 0).then(|| DocumentIssue::warning("Q010", "", message).with_fix(fix))
    }
}

/// Returns how a session migrates, and whether it stays because its current node was removed.
fn simulate_migration(from: Option<&Config>, to: &Config, state: &Value) -> (MigrationKind, bool) {
    let (Some(old), Some(new)) = (from.and_then(|it| it.flow()), to.flow()) else {
        return (MigrationKind::Pinned, false);
    };
    let found = migrate(old, new, &to.source()["flow"], &format!("sha256:{}", to.hash_source()), state);
    (found.kind, found.is_lost)
}
