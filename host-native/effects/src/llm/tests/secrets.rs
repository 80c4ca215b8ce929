//! An API key that a provider echoes is redacted.

use convengine_core::turn::LlmMode;

use super::provider::ALL;
use super::server::{Server, response_until_close, response_with_length};
use super::{KEY, TestSubscriber, call, far_deadline, generate, into_result, models, settings};

#[tokio::test]
async fn a_key_in_an_answer_or_an_error_is_scrubbed() {
    for provider in ALL {
        let echo = format!("your key is {KEY}.");
        let server = Server::new(vec![
            response_with_length(200, "", &provider.answer(&echo)),
            response_with_length(401, "", &provider.error("x", &echo)),
        ])
        .await;
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        let text = generate(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text;
        assert_eq!(text, "your key is [secret:TEST_KEY].");
        let error = generate(&models, &call("agent", LlmMode::Text)).await.expect_err("an error");
        assert_eq!(error.message, format!("{}: status 401: your key is [secret:TEST_KEY].", provider.model_spec()));
        // The message is shortened after the key is redacted.
        let long = format!("{}{KEY}", "x".repeat(480));
        let server = Server::new(vec![response_with_length(400, "", &provider.error("x", &long))]).await;
        let error = generate(&super::models(&settings(&server.address, &[provider.model_spec()])), &call("agent", LlmMode::Text))
            .await
            .unwrap_err();
        assert!(!error.message.contains(&KEY[..6]) && error.message.contains("x[sec"), "{error}");
    }
}

#[tokio::test]
async fn a_key_split_across_deltas_is_scrubbed() {
    let text = format!("é {KEY}{KEY} sk-test-01 {KEY}!");
    let expected = "é [secret:TEST_KEY][secret:TEST_KEY] sk-test-01 [secret:TEST_KEY]!";
    for provider in ALL {
        for at in (0..=text.len()).filter(|it| text.is_char_boundary(*it)) {
            let (one, two) = text.split_at(at);
            let server = Server::new(vec![response_until_close(provider.stream(&[one, two]).as_bytes())]).await;
            let models = models(&settings(&server.address, &[provider.model_spec()]));
            let listener = TestSubscriber::new();
            let answer = models.generate(&call("response_text", LlmMode::Text), Some(&listener), far_deadline()).await.result;
            assert_eq!(into_result(answer).expect("an answer").text, expected);
            assert_eq!(listener.published_text(), expected, "{provider:?}, cut at {at}");
        }
        let cut = provider.stream(&["x", KEY]);
        let cut = &cut[..cut.find(KEY).unwrap() + KEY.len() + 60];
        let server = Server::new(vec![response_until_close(cut.as_bytes())]).await;
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        let listener = TestSubscriber::new();
        let answer = models.generate(&call("response_text", LlmMode::Text), Some(&listener), far_deadline()).await.result;
        assert!(
            into_result(answer).is_err() && !listener.published_text().contains("sk-"),
            "text held back by a failed attempt is not published"
        );
    }
}
