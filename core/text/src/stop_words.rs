//! Function words that a question is searched without, because almost every chunk has them.

use crate::language::Language;

/// Returns whether a token of a language, normalised but not stemmed, is a function word.
pub fn is_stop_word(token: &str, language: Language) -> bool {
    list(language).split_ascii_whitespace().any(|it| it == token)
}

/// Accents are written as the normaliser leaves them: removed in Dutch, English, French, Greek, Italian, Portuguese and Spanish.
pub fn list(language: Language) -> &'static str {
    match language {
        Language::Arabic => {
            "أن أنا أنت أنتم أو أي أيضا أين إذا إلا إلى إن التي الذي الذين ألا أم أما أنه أنها إنه إنها بأن بعد بعض بل بين به بها تكون تلك ثم \
             حتى ذلك رغم سوف عند عندما عن عنه عنها على عليه عليها علي غير فإن فقط في فيه فيها قبل قد كان كانت كل كم كما كنت كيف لا لأن لدي لذا \
             لقد لك لكن لكم لم لماذا لن لنا له لها لهم لو لي ليس ليست ما ماذا متى مع معي من منذ منه منها نحن هذا هذه هل هم هن هنا هناك هو هي \
             هؤلاء و ولا وما ومن وهو وهي يا يكون"
        }
        Language::Danish => {
            "af alle at blev blive bliver da de dem den der deres det dette dig din dine dit du efter eller en er et for fra få får \
             ham han hans har havde have hende hendes her hos hun hvad hvem hvilken hvilke hvis hvor hvordan hvorfor hvornår i ikke ind jeg \
             kan kunne man med meget men mig min mine mit må ned noget nogle nu når og også om op os over på sig sin skal skulle som \
             til ud under var ved vi vil ville vores være været"
        }
        Language::Dutch => {
            "aan al als bij dan dat de der deze die dit doe doen door dus een en er geen had heb hebben heeft hem het hier hij hoe hun ik \
             in is ja je jij jouw kan kunnen maar me meer men met mij mijn moet na naar niet nog nu of om omdat ons onze ook op over \
             te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welke werd wie wij wil worden \
             wordt zal ze zich zij zijn zo zonder zou"
        }
        Language::English => {
            "a about all also am an and any are as at be been being but by can could d did do does doing for from had has have having he \
             her him his how i if in into is it its just ll m may me might must my no not of on or our please re s shall she should so some \
             such t than that the their them then there these they this those to us ve was we were what when where which who whom whose \
             why will with would you your"
        }
        Language::Finnish => {
            "ei eivät emme en et että ette he hän häntä hänen ja jo jos joka jota jotka kanssa kuin kuinka kuka kun me meidän mihin mikä mikäli \
             miksi milloin millä minkä minulla minun minä missä mistä mitkä mitä miten mukaan mutta myös ne niiden niin ne nyt näin nämä ole \
             olen olet oli olivat on onko ovat saa se sekä sen siinä sille sinun sinä sitä tai te teidän tämä tämän tätä voi voin vaan vai"
        }
        Language::French => {
            "a ai as au aux avec avez avoir c ce ces cet cette ceux ci comme comment d dans de des dois doit du elle elles en es est et ete \
             etre eu fait faut il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou par pas peut peux \
             plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont suis sur t ta te tes toi ton tu \
             un une vos votre vous y"
        }
        Language::German => {
            "aber alle als also am an auch auf aus bei beim bin bis bist da dann das dass daß dein deine dem den denn der des die dies diese \
             diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es etwas euch euer für habe haben hat hatte hier \
             ich ihm ihn ihr ihre ihrem ihren ihrer im in ins ist ja kann kannst können mein meine meinem meinen meiner mich mir mit muss \
             müssen nach nicht noch nun nur ob oder ohne seid sein seine sich sie sind so soll sollen über um und uns unser unsere unter vom \
             von vor wann war warum was weil welche welchem welchen welcher welches wenn wer werden wie wieso wir wird wo wurde zu zum zur"
        }
        Language::Greek => {
            "αλλα αν απο αυτα αυτη αυτο αυτοσ αυτου για γιατι δεν εαν εγω εδω ειμαι ειναι ειχα ειχε εκει εμεισ ενα ενασ εναν εσεισ εσυ εχει εχετε \
             εχουμε εχω η ηταν θα και κατα κι μασ με μεσα μετα μη μην μια μιασ μου ναι να ο οι ολα ομωσ οπου οπωσ οταν οτι ουτε οχι παρα πιο ποια \
             ποιο ποιοσ ποσο ποσα ποτε που πολυ πρεπει προσ πωσ σαν σασ σε σου στα στη στην στισ στο στον στουσ τα τη την τησ τι τισ το τον του τουσ \
             των υπαρχει ωσ"
        }
        Language::Hungarian => {
            "a abban ahhoz aki akik ami amikor az azt azzal csak de e egy ehhez ez ezen ezt ezzel fel ha hanem hogy hogyan hol hova igen is itt \
             kell ki le lehet lesz már még meg mert mi miért mikor milyen mint mit nagyon ne nekem nem néhány ő ők ön és össze sem szerint \
             tud van vannak vagy vagyok volt"
        }
        Language::Italian => {
            "a ad ai al alla alle allo anche c che chi ci cio come con cosa cui d da dal dalla dalle dei del della delle dello devo di do dove e \
             ed era gli ha hai hanno ho i il in io l la le lei li lo loro ma me mi mia mie miei mio ne nei nel nella nelle noi non nostra \
             nostro o per perche piu posso puo qual quale quali quando quanto quello questa queste questi questo se sei si sia sono su sua \
             sue sui sul sulla suo ti tra tu tua tuo un una uno vi voi"
        }
        Language::Norwegian => {
            "alle at av bare ble bli blir da de deg dem den denne der dere det dette din disse ditt du eller en er et ett etter for fra få får \
             ha hadde han har hun hva hvem hver hvilken hvilke hvis hvor hvordan hvorfor i ikke inn jeg kan kunne man med meg men mer min mine \
             mitt må noe noen nå når og også om opp oss over på seg sin skal skulle som så til ut var ved vi vil ville vår være vært"
        }
        Language::Portuguese => {
            "a ao aos as ate com como da das de dela dele deles depois do dos e ela elas ele eles em entre era essa esse esta estao estar este \
             eu foi ha isso isto ja la lhe mais mas me mesmo meu meus minha minhas muito na nao nas nem no nos nossa nosso num numa o onde os \
             ou para pela pelo por porque posso qual quais quando quanto que quem se sem ser seu seus so sao sua suas tambem te tem tenho ter \
             tu um uma voce voces"
        }
        Language::Romanian => {
            "a acea aceasta această aceste acest acestea ai aici al ale am ar are as asta au avea că când care ce cel cu cum câte cât da dacă \
             de din do după e ea ei el ele era este eu fi fie fost iar il îl îmi în la le lor lui mai mea mei meu mi nici noi nu o or pe pentru \
             poate pot prin sa să sau se si și sunt și ta te tu un una unde unei unui va voi vom vor"
        }
        Language::Russian => {
            "а без бы был была были было быть в вам вас весь во вот все всего вы где да для до его ее ей ему если есть еще же за здесь и из или \
             им их к как какая какие какой когда ко кто ли либо мне может можно мой моя мы на надо наш не него нее нет ни них но ну о об \
             он она они оно от по под при с сам свой со так также там те тем то того тоже той только том тот ты у уже чего чем что чтобы чья эта \
             эти это этот я"
        }
        Language::Spanish => {
            "a al algo como con cual cuales cuando cuanto de del desde donde e el ella ellas ellos en entre era es esa ese eso esta estan estar \
             estas este esto estos estoy fue ha hacer hay he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra \
             nuestro o os para pero por porque pueda puede puedo que quien se ser si sin sobre son soy su sus tambien te tengo ti tiene \
             todo tu tus un una uno unos usted ustedes y ya yo"
        }
        Language::Swedish => {
            "alla allt att av bara bli blir blev de dem den denna deras dess det detta dig din dina dit ditt du där då efter ej eller en er era \
             ert ett från för få får ha hade han hans har henne hennes hon honom hur här i icke in inte jag ju kan kunde man med mellan men mig \
             min mina mitt mot mycket måste ni nu när och om oss på samma sedan sig sin sina sitt ska skulle som så till under upp ut utan vad \
             var vara varför varit vem vi vid vilka vilken vilket vill är över"
        }
        Language::Tamil => {
            "அங்கே அது அதை அந்த அல்லது அவர் அவர்கள் அவள் அவன் ஆகும் ஆனால் இங்கே இது இதை இந்த இருக்கிறது இல்லை உங்கள் உங்களுக்கு உள்ளது உன் உனக்கு எங்கள் \
             எங்களுக்கு எங்கே எது எந்த எப்படி எப்போது எல்லாம் என் என்பது என்ற என்று என்ன எனக்கு எனது ஏன் ஒரு கூட தான் நாங்கள் நான் நாம் நீ நீங்கள் போல \
             மட்டும் மற்றும் முடியும் முடியுமா யார் வேண்டும்"
        }
        Language::Turkish => {
            "acaba ama ancak bana bazı belki ben beni benim bir biri biz bizim bu buna bunu bunun da daha de değil diye en gibi hem hangi hep \
             her hiç için ile ise kadar ki kim mı mi mu mü nasıl ne neden nedir nerede nereye niçin niye o olan olarak oldu olur ona onlar onu \
             onun sana sen seni senin siz sizin şey şu ve veya ya yani"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::language_of;
    use crate::normal_form::compose;
    use crate::phrase::Phrase;

    /// Every language, by a locale.
    const LOCALES: [&str; 18] =
        ["ar", "da", "nl", "en", "fi", "fr", "de", "el", "hu", "it", "no", "pt", "ro", "ru", "es", "sv", "ta", "tr"];

    #[test]
    fn lists_are_written_as_the_normaliser_leaves_them() {
        for locale in LOCALES {
            let language = language_of(locale).unwrap();
            for word in list(language).split_ascii_whitespace() {
                let token = compose(&Phrase::new(word, locale).tokens().join(" ")).collect::<String>();
                assert!(is_stop_word(&token, language), "{locale}: {word} is never met, it reads {token}");
            }
        }
    }
}
