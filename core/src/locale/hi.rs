//! Hindi.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "hi",
    words: LocaleWords {
        and: "और,व,तथा,एवं",
        determiners: "यह,वह,ये,वे,इस,उस,इन,उन,मेरा,मेरी,मेरे,हमारा,हमारी,हमारे,आपका,आपकी,आपके,अपना,अपनी,अपने",
        contractions: "",
        questions: "कौन,कौनसा,कौनसी,कौनसे,सा,सी,किस,क्या,कब,कहां,कितना,कितने,कितनी,है,हैं,कृपया,बताएं,बताइए,चुनें,आप,मैं,हम,मुझे,हमें,या",
    },
    texts: Some(EngineTexts {
        confirm_value: "क्या {value} सही है?",
        yes: "हाँ",
        no: "नहीं",
        ask_for_value: "{name}?",
        choose_value: "आपका मतलब इनमें से किससे है: {values}?",
        choose_intent: "आपका मतलब “{first}” से है या “{second}” से?",
        not_understood: "माफ़ कीजिए, यह बात समझ में नहीं आई।",
        error: "कुछ गड़बड़ हो गई। कृपया फिर से कोशिश करें।",
    }),
};
