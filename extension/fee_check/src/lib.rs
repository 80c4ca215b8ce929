//! An example extension for loans: `feeTask:quote` requests a rate from a service and computes the fee, `feeTask:decorate` adds the fee to
//! the final answer.

use convengine_extension::json::{Value, json};
use convengine_extension::{Ext, Fault, HttpCall, Patch, View, export};
use serde::Deserialize;

/// The default URL of the rate service; the parameter `ratesUrl` overrides it.
const RATES_URL: &str = "https://rates.example/fees";

/// The minimum fee.
const MIN_FEE: f64 = 25.0;

/// The response of the service.
#[derive(Deserialize)]
struct Rate {
    /// Percent of the amount per year.
    percent: f64,
    /// ISO 4217 code.
    currency: String,
}

/// Reads `requestedAmount` and `tenureMonths`, calls the rate service once, and sets the parameter `feeQuote`.
///
/// # Errors
/// `MISSING_VALUE` or `WRONG_VALUE` for the inputs, or the failure of the service.
pub async fn quote(x: Ext, view: View) -> Result<Patch, Fault> {
    let amount = read_number(&view, "requestedAmount")?;
    let months = read_number(&view, "tenureMonths")?;
    let rates = view.param("ratesUrl").and_then(Value::as_str).unwrap_or(RATES_URL);
    x.say("Asking for today's fee");
    let reply = x.perform(HttpCall::get(format!("{rates}?months={months}")).secret("rates")).await?;
    let rate: Rate = reply.json()?;
    let fee = (amount * rate.percent / 100.0 * months / 12.0).max(MIN_FEE);
    let fee = (fee * 100.0).round() / 100.0;
    Ok(Patch::default().param("feeQuote", json!({"fee": fee, "currency": rate.currency})).value(fee))
}

/// Adds the quoted fee to the answer; without a quote the answer is unchanged.
///
/// # Errors
/// Never fails.
pub async fn decorate(x: Ext, view: View) -> Result<Patch, Fault> {
    let input = x.input();
    let (Some(quote), Some(text)) = (view.param("feeQuote"), input.get("value").and_then(Value::as_str)) else {
        return Ok(Patch::default());
    };
    let currency = quote.get("currency").and_then(Value::as_str).unwrap_or_default();
    let fee = quote.get("fee").and_then(Value::as_f64).unwrap_or_default();
    Ok(Patch::default().value(format!("{text} The fee is {fee:.2} {currency}.")))
}

fn read_number(view: &View, name: &str) -> Result<f64, Fault> {
    let value = view.value(name).ok_or_else(|| Fault::new("MISSING_VALUE", format!("the value '{name}' is missing")))?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let invalid = || Fault::new("WRONG_VALUE", format!("the value '{name}' is not a number above 0"));
    number.filter(|number| number.is_finite() && *number > 0.0).ok_or_else(invalid)
}

export! {
    "feeTask:quote" => quote,
    "feeTask:decorate" => decorate,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(message: &Value) -> (convengine_extension::Extension, Value) {
        let mut extension = conv_extension();
        let output = serde_json::from_slice(&extension.start(message.to_string().as_bytes())).unwrap();
        (extension, output)
    }

    #[test]
    fn a_fee_is_quoted_from_one_request() {
        let view = json!({"context": {"requestedAmount": "10000", "tenureMonths": 24}});
        let (mut extension, output) = start(&json!({"abi": 1, "call": {"task": "feeTask:quote"}, "view": view}));
        assert_eq!(output["effects"][0]["request"]["url"], "https://rates.example/fees?months=24");
        assert_eq!(output["effects"][0]["request"]["secret"], "rates");
        let ok = json!({"kind": "http", "status": 200, "body": r#"{"percent": 0.5, "currency": "EUR"}"#});
        let message = json!({"completions": [{"id": 0, "at": 0, "outcome": {"ok": ok}}]});
        let output: Value = serde_json::from_slice(&extension.resume(message.to_string().as_bytes())).unwrap();
        assert_eq!(output["end"]["patch"]["params"], json!({"feeQuote": {"fee": 100.0, "currency": "EUR"}}));
    }

    #[test]
    fn a_value_that_is_missing_or_wrong_is_a_fault() {
        for (params, code) in [(json!({}), "MISSING_VALUE"), (json!({"requestedAmount": "much", "tenureMonths": 1}), "WRONG_VALUE")] {
            let (_, output) = start(&json!({"abi": 1, "call": {"task": "feeTask:quote"}, "view": {"inputParams": params}}));
            assert_eq!(output["end"]["fault"]["code"], code);
        }
    }

    #[test]
    fn the_fee_is_shown_with_the_answer() {
        let decorated = |params: Value| {
            let call = json!({"task": "feeTask:decorate", "transform": "final"});
            let input = json!({"type": "TEXT", "value": "Done."});
            start(&json!({"abi": 1, "call": call, "view": {"inputParams": params}, "input": input})).1["end"]["patch"].clone()
        };
        assert_eq!(decorated(json!({"feeQuote": {"fee": 99.5, "currency": "EUR"}})), json!({"value": "Done. The fee is 99.50 EUR."}));
        assert_eq!(decorated(json!({})), json!({}));
    }
}
