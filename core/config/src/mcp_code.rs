//! Codes of tools of MCP servers. (docs/spec/tools.md#7)

/// Splits the code `mcp.SERVER.TOOL` into server and tool, of which the tool may have dots.
///
/// ```
/// use convengine_config::{join_mcp_code, split_mcp_code};
///
/// assert_eq!(split_mcp_code("mcp.shop.orders.find"), Some(("shop", "orders.find")));
/// assert_eq!(join_mcp_code("shop", "orders.find"), "mcp.shop.orders.find");
/// assert_eq!(split_mcp_code("shop.find"), None);
/// ```
pub fn split_mcp_code(code: &str) -> Option<(&str, &str)> {
    code.strip_prefix("mcp.")?.split_once('.').filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// Returns the code of a tool of a server; see [`split_mcp_code`].
pub fn join_mcp_code(server: &str, tool: &str) -> String {
    format!("mcp.{server}.{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_server_and_tool() {
        assert_eq!(split_mcp_code("mcp.acme-oms.orders.get"), Some(("acme-oms", "orders.get")));
        assert_eq!(join_mcp_code("acme-oms", "orders.get"), "mcp.acme-oms.orders.get");
        for code in ["mcp.acme", "mcp..x", "mcp.a.", "acme.get", ""] {
            assert_eq!(split_mcp_code(code), None, "{code}");
        }
    }
}
