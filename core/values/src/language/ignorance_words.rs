//! Words with which people say that they do not know an answer, by language. They are folded; alternatives are separated by `|`.

/// The phrases of each language, by its code. What is one word may be a name in another language.
pub(crate) const ALL: [(&str, &str); 8] = [
    (
        "en",
        "i don t know|i dont know|i do not know|don t know|dont know|do not know|i don t know it|i don t know that|i don t know yet|don t know yet|\
         i really don t know|i honestly don t know|dunno|i dunno|idk|no idea|no clue|i have no idea|i ve no idea|ive no idea|i have no clue|\
         i haven t a clue|haven t a clue|haven t got a clue|not a clue|not sure|i m not sure|im not sure|i am not sure|not sure yet|\
         i m not sure yet|i don t remember|i dont remember|i do not remember|don t remember|i can t remember|i cant remember|i cannot remember|\
         can t remember|i forgot|i ve forgotten|i have forgotten|i couldn t say|couldn t say|i can t say|hard to say|i wouldn t know|beats me",
    ),
    (
        "de",
        "weiss nicht|weiss ich nicht|ich weiss nicht|ich weiss es nicht|weiss es nicht|das weiss ich nicht|ich weiss das nicht|weis nicht|\
         weis ich nicht|ich weis nicht|ich weis es nicht|weiss ich noch nicht|ich weiss noch nicht|ich weiss es noch nicht|weiss noch nicht|\
         das weiss ich noch nicht|weiss ich leider nicht|ich weiss leider nicht|ich weiss es leider nicht|das weiss ich leider nicht|\
         weiss ich gerade nicht|das weiss ich gerade nicht|weiss ich nicht mehr|ich weiss nicht mehr|ich weiss es nicht mehr|\
         das weiss ich nicht mehr|weiss ich nicht genau|ich weiss es nicht genau|das weiss ich nicht genau|keine ahnung|ich habe keine ahnung|\
         ich hab keine ahnung|habe keine ahnung|hab keine ahnung|da habe ich keine ahnung|da hab ich keine ahnung|kein plan|keinen plan|\
         keinen schimmer|nicht sicher|ich bin nicht sicher|ich bin mir nicht sicher|bin mir nicht sicher|bin nicht sicher|\
         kann ich nicht sagen|das kann ich nicht sagen|kann ich ihnen nicht sagen|das kann ich ihnen nicht sagen|ich erinnere mich nicht|\
         habe ich vergessen|hab ich vergessen|das habe ich vergessen|das hab ich vergessen|ich habe es vergessen|ich hab s vergessen",
    ),
    (
        "es",
        "no se|no lo se|yo no se|yo no lo se|ni idea|no tengo idea|no tengo ni idea|no tengo la menor idea|ni la menor idea|no estoy seguro|\
         no estoy segura|no sabria|no sabria decir|no sabria decirle|no sabria decirte|no recuerdo|no lo recuerdo|no me acuerdo|ya no me acuerdo|\
         todavia no se|todavia no lo se|aun no se|aun no lo se|yo que se|no lo tengo claro|se me olvido|se me ha olvidado|lo he olvidado",
    ),
    (
        "fr",
        "je ne sais pas|je sais pas|sais pas|je n en sais rien|j en sais rien|aucune idee|je n ai aucune idee|j ai aucune idee|\
         je n en ai aucune idee|pas la moindre idee|je n ai pas la moindre idee|je ne suis pas sur|je ne suis pas sure|je suis pas sur|\
         je suis pas sure|pas sur|pas sure|je ne sais plus|je sais plus|je ne me souviens pas|je me souviens pas|je ne me souviens plus|\
         je ne me rappelle pas|je ne me rappelle plus|je ne sais pas encore|je sais pas encore|j ai oublie|je l ai oublie|je ne saurais dire",
    ),
    (
        "hi",
        "पता नहीं|पता नहीं है|मुझे पता नहीं|मुझे पता नहीं है|मुझे नहीं पता|नहीं पता|कुछ पता नहीं|मालूम नहीं|मुझे मालूम नहीं|मुझे नहीं मालूम|नहीं मालूम|मैं नहीं जानता|\
         मैं नहीं जानती|नहीं जानता|नहीं जानती|याद नहीं|याद नहीं है|मुझे याद नहीं|मुझे याद नहीं है|कोई अंदाजा नहीं|pata nahi|mujhe nahi pata|\
         mujhe pata nahi|nahi pata|malum nahi",
    ),
    (
        "it",
        "non lo so|non so|non saprei|non saprei dire|boh|bho|nessuna idea|non ho idea|non ne ho idea|non ho la minima idea|\
         non ne ho la minima idea|non sono sicuro|non sono sicura|non ne sono sicuro|non ne sono sicura|non ricordo|non mi ricordo|non lo ricordo|\
         non me lo ricordo|non lo so ancora|ancora non lo so|non lo so piu|ho dimenticato|l ho dimenticato|me lo sono dimenticato|\
         me lo sono dimenticata",
    ),
    (
        "pt",
        "nao sei|eu nao sei|nao sei dizer|sei la|nao faco ideia|nao faco a minima ideia|nao tenho ideia|nao tenho a menor ideia|nem ideia|\
         sem ideia|nao tenho certeza|nao tenho a certeza|nao lembro|nao me lembro|nao recordo|nao me recordo|ainda nao sei|nao sei ainda|nem sei|\
         eu esqueci|esqueci me|ja nao sei|nao sei mais",
    ),
    (
        "nl",
        "weet ik niet|ik weet het niet|ik weet niet|weet niet|weet het niet|dat weet ik niet|weet ik nog niet|ik weet het nog niet|\
         dat weet ik nog niet|weet ik niet meer|ik weet het niet meer|dat weet ik niet meer|weet ik niet zeker|ik weet het niet zeker|geen idee|\
         ik heb geen idee|heb geen idee|geen flauw idee|ik heb geen flauw idee|geen benul|niet zeker|ik ben niet zeker|\
         ik ben er niet zeker van|zou ik niet weten|ik zou het niet weten|kan ik niet zeggen|dat kan ik niet zeggen|ben ik vergeten|\
         dat ben ik vergeten|ik ben het vergeten",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fold;

    #[test]
    fn words_are_folded() {
        for (code, phrases) in ALL {
            for phrase in phrases.split('|') {
                assert_eq!(fold(phrase), phrase, "{code}");
            }
        }
    }
}
