//! Converts results of tools to JSON text: data, never instructions.

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::failure::excerpt;

/// Maximum bytes of a result.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Returns the result of a call as text: its structured content, else its texts, else all of its blocks.
///
/// # Errors
/// `Refused` with the text of the tool if it answered with an error, `Invalid` for a result that is too large.
pub fn to_text(server: &str, result: CallToolResult) -> Result<String, EffectError> {
    let texts: Vec<&str> = result.content.iter().filter_map(|it| it.as_text().map(|it| it.text.as_str())).collect();
    if result.is_error == Some(true) {
        let message = format!("the tool answered with an error: {}", excerpt(&texts.join("\n")));
        return Err(EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_ERROR));
    }
    let text = match &result.structured_content {
        Some(value) => value.to_string(),
        None if texts.len() == result.content.len() => texts.join("\n"),
        None => json!({"content": result.content.iter().map(describe_block).collect::<Vec<_>>()}).to_string(),
    };
    if text.len() > MAX_RESULT_BYTES {
        let message = format!("the result of the MCP server '{server}' has {} bytes, more than {MAX_RESULT_BYTES}", text.len());
        return Err(EffectError::new(EffectErrorKind::Invalid, message).with_detail(EffectErrorDetail::TOO_LARGE));
    }
    Ok(text)
}

/// A block as data; binary content by its type and size only.
fn describe_block(block: &ContentBlock) -> Value {
    let binary = |kind: &str, mime: Option<&str>, data: &str| json!({"type": kind, "mimeType": mime, "bytes": data.len() / 4 * 3});
    match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text.text}),
        ContentBlock::Image(image) => binary("image", Some(&image.mime_type), &image.data),
        ContentBlock::Audio(audio) => binary("audio", Some(&audio.mime_type), &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => json!({"type": "resource", "uri": uri, "text": text}),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mut described = binary("resource", mime_type.as_deref(), blob);
                described["uri"] = json!(uri);
                described
            }
            _ => json!({"type": "resource"}),
        },
        ContentBlock::ResourceLink(link) => {
            json!({"type": "resource_link", "uri": link.uri, "name": link.name, "mimeType": link.mime_type})
        }
        _ => json!({"type": "unknown"}),
    }
}
