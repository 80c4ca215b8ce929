//! An API key that a provider echoes is redacted.

use convengine_core::turn::LlmMode;

use super::provider::ALL;
use super::server::{Server, until_the_end, whole};
use super::{KEY, Listener, ask, call, far, models, reply, settings};

#[tokio::test]
async fn a_key_in_an_answer_or_an_error_is_struck_out() {
    for provider in ALL {
        let echo = format!("your key is {KEY}.");
        let server = Server::new(vec![whole(200, "", &provider.answer(&echo)), whole(401, "", &provider.error("x", &echo))]).await;
        let models = models(&settings(&server.address, &[provider.word()]));
        let text = ask(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text;
        assert_eq!(text, "your key is [secret:TEST_KEY].");
        let error = ask(&models, &call("agent", LlmMode::Text)).await.expect_err("an error");
        assert_eq!(error.message, format!("{}: status 401: your key is [secret:TEST_KEY].", provider.word()));
        // The message is shortened after the key is redacted.
        let long = format!("{}{KEY}", "x".repeat(480));
        let server = Server::new(vec![whole(400, "", &provider.error("x", &long))]).await;
        let error = ask(&super::models(&settings(&server.address, &[provider.word()])), &call("agent", LlmMode::Text)).await.unwrap_err();
        assert!(!error.message.contains(&KEY[..6]) && error.message.contains("x[sec"), "{error}");
    }
}

#[tokio::test]
async fn a_key_that_comes_in_two_pieces_is_struck_out() {
    let text = format!("é {KEY}{KEY} sk-test-01 {KEY}!");
    let expected = "é [secret:TEST_KEY][secret:TEST_KEY] sk-test-01 [secret:TEST_KEY]!";
    for provider in ALL {
        for at in (0..=text.len()).filter(|it| text.is_char_boundary(*it)) {
            let (one, two) = text.split_at(at);
            let server = Server::new(vec![until_the_end(provider.stream(&[one, two]).as_bytes())]).await;
            let models = models(&settings(&server.address, &[provider.word()]));
            let mut listener = Listener::new();
            let answer = models.llm(&call("response_text", LlmMode::Text), Some(&listener.tokens), far()).await;
            assert_eq!(reply(answer).expect("an answer").text, expected);
            assert_eq!(listener.text(), expected, "{provider:?}, cut at {at}");
        }
        let cut = provider.stream(&["x", KEY]);
        let cut = &cut[..cut.find(KEY).unwrap() + KEY.len() + 60];
        let server = Server::new(vec![until_the_end(cut.as_bytes())]).await;
        let models = models(&settings(&server.address, &[provider.word()]));
        let mut listener = Listener::new();
        let answer = models.llm(&call("response_text", LlmMode::Text), Some(&listener.tokens), far()).await;
        assert!(reply(answer).is_err() && !listener.text().contains("sk-"), "text held back by a failed attempt is not published");
    }
}
