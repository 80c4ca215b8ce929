//! The tree below `convengine` as types for serde: what no type declares is an unknown setting.

use std::collections::BTreeMap;

use convengine_storage::class_pool::PoolSizes;
use figment::Figment;
use figment::error::Kind;
use figment::providers::Serialized;
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::assistants::AssistantTree;
use super::chains::{ChainTree, NotifyTree};
use super::groups::groups;
use super::http::HttpSettings;
use super::llm::LlmTree;
use super::mcp::McpServerTree;
use super::names;
use super::network::{NetworkTree, OutboundTree};
use super::observe::{LoggingTree, TelemetryTree};
use super::restate::RestateTree;
use super::retention::RetentionSettings;
use super::security::SecurityTree;
use super::share::ShareSettings;
use super::sources::SettingSources;
use super::stream::TransportTree;
use super::turn::{AuditTree, ToolTimeouts, TurnTree};
use super::value::{FromText, HttpUrl, Text, choose, optional_list, problem, scalar, whole};

groups! {
    /// All settings that the server reads itself.
    pub(super) struct HostTree {
        /// Taken out before the tree is read, so that it cannot leak; here for its name.
        admin_token: Value,
        pub(super) assistants: AssistantTree,
        pub(super) audit: AuditTree,
        pub(super) chains: ChainTree,
        pub(super) config: ConfigTree,
        pub(super) container: ContainerTree,
        pub(super) database: DatabaseTree,
        pub(super) files: FilesTree,
        pub(super) http: HttpSettings,
        pub(super) llm: LlmTree,
        pub(super) logging: LoggingTree,
        pub(super) mcp: McpTree,
        pub(super) network: NetworkTree,
        pub(super) notify: NotifyTree,
        pub(super) outbound: OutboundTree,
        pub(super) privacy: PrivacyTree,
        pub(super) restate: RestateTree,
        pub(super) retention: RetentionSettings,
        schema: SchemaTree,
        /// Names and references, which [`Secrets`](crate::secrets::Secrets) reads from the tree.
        secrets: Value,
        /// A reference, which [`KeySource`](crate::secrets::key_source::KeySource) reads from the tree, so that no problem shows a key.
        secrets_key: Value,
        pub(super) security: SecurityTree,
        pub(super) share: ShareSettings,
        pub(super) stream: Option<bool> as "scalar",
        pub(super) tables: BTreeMap<String, Text>,
        pub(super) telemetry: TelemetryTree,
        pub(super) tool_database: ToolDatabaseTree,
        pub(super) tools: ToolTimeouts,
        pub(super) transport: TransportTree,
        pub(super) turn: TurnTree,
    }

    /// `config.*`, beside what the core reads.
    pub(super) struct ConfigTree {
        pub(super) follow: Option<bool> as "scalar",
    }

    /// `container.*`
    pub(super) struct ContainerTree {
        pub(super) url: Option<HttpUrl> as "scalar",
    }

    /// `database.*`
    pub(super) struct DatabaseTree {
        pub(super) synchronous: Synchronous as "scalar",
        pub(super) connections: u32 as "whole::<_, _, 1, 1_000>" = PoolSizes::default().user,
        pub(super) background_connections: u32 as "whole::<_, _, 1, 1_000>" = PoolSizes::default().background,
        pub(super) capacity_gb: Option<u64> as "gigabytes",
    }
}

fn gigabytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    whole::<_, _, 1, 1_000_000>(deserializer).map(Some)
}

groups! {
    /// `files.*`
    pub(super) struct FilesTree {
        pub(super) roots: BTreeMap<String, Text>,
    }

    /// `mcp.*`, beside what the core reads; requests read `mcp.db` from the tree.
    pub(super) struct McpTree {
        db: McpDatabaseTree,
        pub(super) servers: BTreeMap<String, McpServerTree>,
    }

    struct McpDatabaseTree {
        introspect_tables: Option<Vec<String>> as "optional_list",
    }

    /// `privacy.*`
    pub(super) struct PrivacyTree {
        pub(super) redact: Value,
    }

    /// `schema.*`, which requests read from the tree.
    struct SchemaTree {
        active: Option<String> as "scalar",
    }

    /// `tool-database.*`
    pub(super) struct ToolDatabaseTree {
        pub(super) url: Option<String> as "scalar",
    }
}

/// How often SQLite waits for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Synchronous {
    #[default]
    Normal,
    /// At each commit.
    Full,
}

impl FromText for Synchronous {
    fn from_text(text: &str) -> Result<Synchronous, String> {
        choose(text, &[("normal", Synchronous::Normal), ("full", Synchronous::Full)])
    }
}

/// Reads the settings of the server from a normalized tree; `sources` knows where they are from, and adds one line per problem.
pub(super) fn read(tree: &Value, sources: &SettingSources, problems: &mut Vec<String>) -> HostTree {
    let tree = names::without_others(tree);
    extract(&mut tree.clone(), |path, kind| {
        let name = path.join(".");
        match kind {
            Kind::UnknownField(..) => {
                let leaves = names::leaves_below(&tree, path);
                problems.extend(leaves.iter().map(|leaf| names::unknown_setting(leaf, sources)));
            }
            Kind::InvalidType(..) => problems.push(names::not_a_group(&name)),
            // Not missing if it was invalid, and so taken out.
            Kind::MissingField(member) if problems.iter().any(|problem| problem.starts_with(&format!("convengine.{name}.{member}: "))) => {}
            Kind::MissingField(member) => problems.push(problem(format!("{name}.{member}"), "missing; set it")),
            Kind::Message(reason) => problems.push(problem(name, reason)),
            other => problems.push(problem(name, other)),
        }
    })
}

/// Deserializes a tree. Since serde ends at the first error, an error takes its setting out of the tree and serde starts again, until every
/// problem is reported.
pub(super) fn extract<T: DeserializeOwned + Default>(tree: &mut Map<String, Value>, mut report: impl FnMut(&[String], &Kind)) -> T {
    loop {
        let errors = match Figment::from(Serialized::defaults(&*tree)).extract() {
            Ok(found) => return found,
            Err(errors) => errors,
        };
        for error in errors {
            report(&error.path, &error.kind);
            if !remove(tree, &error.path) {
                return T::default();
            }
        }
    }
}

/// Removes the value at a path, or the setting that the path goes into, such as a list.
fn remove(tree: &mut Map<String, Value>, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let inner = tree.get_mut(first).and_then(Value::as_object_mut);
    inner.is_some_and(|it| remove(it, rest)) || tree.shift_remove(first).is_some()
}

/// Reads a tree for tests of its groups.
#[cfg(test)]
pub(super) fn read_test_tree(tree: &Value) -> (HostTree, Vec<String>) {
    let mut problems = Vec::new();
    (read(tree, &SettingSources::none(), &mut problems), problems)
}
