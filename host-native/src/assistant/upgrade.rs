//! Sessions that go along with the versions of their assistant, and what publishing would do to them. (`convoship.md` 13)

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::config::flow::DocumentIssue;
use convengine_core::config::flow::document::VersionPolicy;
use convengine_core::flow::{Passage, migrate};
use convengine_core::turn::{Loaded, UserEvent};
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::derive::aside;
use crate::drive::Host;
use crate::store::assistant::session::{self, Session};
use crate::store::assistant::{draft, version};

/// Sessions that are looked at together.
const TOGETHER: i64 = 200;

/// Before every other id.
const FIRST: &str = "00000000-0000-0000-0000-000000000000";

/// A version to which a session goes, if it can.
#[derive(Debug, Clone)]
pub struct Upgrade {
    to: Arc<Config>,
    number: i64,
}

impl Upgrade {
    /// The live version, for a session of another one that goes along.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of(host: &Host, stored: &Session, config: &Config) -> sqlx::Result<Option<Upgrade>> {
        let policy = config.flow.as_ref().map(|it| it.document.settings.version_policy);
        let (Some(own), Some(VersionPolicy::MigrateAtRoot | VersionPolicy::MigrateEager)) = (stored.version, policy) else {
            return Ok(None);
        };
        let live = draft::about(&host.readers, &stored.assistant).await?.and_then(|it| it.live_version);
        let Some(live) = live.filter(|it| *it != own) else { return Ok(None) };
        let Some(text) = version::document(&host.readers, &stored.assistant, live).await? else { return Ok(None) };
        let Ok(document) = serde_json::from_str(&text) else { return Ok(None) };
        let to = host.flows.take(host, &document).await?;
        Ok(to.map(|to| Upgrade { to, number: live }))
    }

    /// Takes a session along; answers what it runs on then, nothing when it stays.
    pub fn take(&self, from: &Config, session: &mut Loaded, event: &mut UserEvent) -> Option<Arc<Config>> {
        let state = session.flow.as_deref()?;
        let (old, new) = (from.flow.as_deref()?, self.to.flow.as_deref()?);
        let found = migrate(old, new, &self.to.source()["flow"], &format!("sha256:{}", self.to.hash()), state);
        if found.passage == Passage::Stays {
            return None;
        }
        session.flow = Some(Box::new(found.state));
        let members = event.flow.as_deref_mut()?.as_object_mut()?;
        members.insert("version".to_owned(), json!(self.number));
        members.insert("migrated".to_owned(), found.report);
        Some(Arc::clone(&self.to))
    }
}

/// What publishing a document would do to the open sessions of its assistant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DryRun {
    /// All open sessions of published versions.
    pub sessions: u64,
    /// Those that go on where they stand.
    pub map: u64,
    /// Those whose users are asked again.
    pub reask: u64,
    /// Those that stay on their version.
    pub stay: u64,
    /// Those of them whose place cannot be mapped.
    #[serde(skip)]
    pub lost: u64,
}

impl DryRun {
    /// Takes all open sessions to a document, without leaving anything of it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of(host: &Host, assistant: &str, document: &Value) -> sqlx::Result<DryRun> {
        let mut counted = DryRun::default();
        let Ok(to) = Config::of_flow(document) else { return Ok(counted) };
        let to = Arc::new(to);
        let mut after = FIRST.to_owned();
        loop {
            let found = session::open(&host.readers, assistant, &after, TOGETHER).await?;
            let Some((last, _)) = found.last() else { return Ok(counted) };
            after.clone_from(last);
            let mut pairs = Vec::with_capacity(found.len());
            for (_, stored) in found {
                let from = host.flows.of(&host.readers, &stored.snapshot).await?;
                pairs.push((from, stored.state));
            }
            let to = Arc::clone(&to);
            let passages =
                aside(move || pairs.iter().map(|(from, state)| passage(from.as_deref(), &to, state)).collect::<Vec<_>>()).await?;
            for (passage, is_lost) in passages {
                counted.sessions += 1;
                counted.lost += u64::from(is_lost);
                match passage {
                    Passage::Maps => counted.map += 1,
                    Passage::Reasks => counted.reask += 1,
                    Passage::Stays => counted.stay += 1,
                }
            }
        }
    }

    /// The issue of publishing: that some sessions do not go on where they stand.
    pub fn issue(&self) -> Option<DocumentIssue> {
        let of = self.sessions;
        let message = format!(
            "of {of} open sessions {} go on where they stand, {} are asked again, {} stay on their version, {} of them because where they \
             stand is gone",
            self.map, self.reask, self.stay, self.lost
        );
        let fix = "declare in 'meta.migrations' where nodes and variables have gone, or let the sessions end";
        (self.reask + self.lost > 0).then(|| DocumentIssue::warning("Q010", "", message).fix(fix))
    }
}

/// How a session comes through, and whether it stays because where it stands is gone.
fn passage(from: Option<&Config>, to: &Config, state: &Value) -> (Passage, bool) {
    let (Some(old), Some(new)) = (from.and_then(|it| it.flow.as_deref()), to.flow.as_deref()) else { return (Passage::Stays, false) };
    let found = migrate(old, new, &to.source()["flow"], &format!("sha256:{}", to.hash()), state);
    (found.passage, found.is_lost)
}
