//! `convengine.share`: the part of the process that one tenant may use, so that it leaves room for the others.

use serde::de::Deserializer;

use super::groups::groups;
use super::value::whole;

/// The blocking threads of a tenant unless they are set.
const DEFAULT_BLOCKING_THREADS: usize = 16;

groups! {
    /// Settings of `convengine.share`; without a value there is no limit.
    #[derive(Copy, PartialEq, Eq)]
    pub struct ShareSettings {
        /// Requests and streams that may be open at once.
        pub connections: Option<usize> as "count",
        /// Threads for extensions, scripts and file tools.
        pub blocking_threads: Option<usize> as "count",
    }
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    whole::<_, _, 1, 1_000_000>(deserializer).map(Some)
}

impl ShareSettings {
    /// The shares of a tenant, with their defaults: half of the connections of the server, and some threads.
    pub(super) fn of_tenant(self, max_connections: usize) -> ShareSettings {
        ShareSettings {
            connections: self.connections.or(Some((max_connections / 2).max(1))),
            blocking_threads: self.blocking_threads.or(Some(DEFAULT_BLOCKING_THREADS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn only_tenants_have_a_limit_by_default() {
        let read = |tree| {
            let (tree, problems) = read_test_tree(&tree);
            (tree.share, problems.len())
        };
        let (none, problems) = read(json!({}));
        assert_eq!((none, problems), (ShareSettings { connections: None, blocking_threads: None }, 0));
        assert_eq!(none.of_tenant(100), ShareSettings { connections: Some(50), blocking_threads: Some(16) });
        let (set, _) = read(json!({"share": {"connections": "7", "blocking-threads": 2}}));
        assert_eq!(set.of_tenant(100), set);
        assert_eq!(read(json!({"share": {"connections": 0, "threads": 1}})).1, 2);
    }
}
