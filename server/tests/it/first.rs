//! What a scheduler is for: speech comes back translated, once, in order, whatever goes wrong.

use crate::peers::{self, Client, Node, server};

#[tokio::test]
async fn speech_comes_back_translated() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(3, true).await;
    let job = node.job().await;
    assert_eq!((job.utterance_index, job.attempt_id), (0, 1));
    assert!(job.is_manual_cut && !job.is_timeout_triggered);
    assert_eq!(job.audio.as_str(), peers::audio(3), "the audio as it was spoken");
    node.hears_first(&job, "hel").await;
    assert_eq!(client.partial().await, "hel");
    node.answer(&job, "hello").await;
    let (said, index) = client.translation().await;
    assert_eq!((said.as_str(), index), ("hello", 0));
}

#[tokio::test]
async fn without_a_node_the_client_is_told_and_lives_on() {
    let url = server().await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let error = client.error().await;
    assert_eq!(error.0, "NO_AVAILABLE_NODE");
    assert_eq!(error.1.as_deref(), Some(r#"{"utterance_index":0,"retryable":true}"#));
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    client.speak(1, true).await;
    let job = node.job().await;
    assert_eq!(job.utterance_index, 1);
    node.answer(&job, "later").await;
    assert_eq!(client.translation().await.0, "later");
}

#[tokio::test]
async fn a_node_never_has_more_jobs_than_it_allows() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 2).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Client::open(&url, "zh", "en").await);
    }
    let mut jobs = Vec::new();
    for client in &mut clients[..2] {
        client.speak(1, true).await;
        jobs.push(node.job().await);
    }
    clients[2].speak(1, true).await;
    assert_eq!(clients[2].error().await.0, "NO_AVAILABLE_NODE");
    node.answer(&jobs[0], "a").await;
    assert_eq!(clients[0].translation().await.0, "a");
    clients[2].speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "c").await;
    assert_eq!(clients[2].translation().await, ("c".to_owned(), 1));
}

#[tokio::test]
async fn answers_leave_in_the_order_of_the_utterances() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let first = node.job().await;
    client.speak(1, true).await;
    let second = node.job().await;
    node.answer(&second, "second").await;
    node.answer(&first, "first").await;
    assert_eq!(client.translation().await, ("first".to_owned(), 0));
    assert_eq!(client.translation().await, ("second".to_owned(), 1));
}

#[tokio::test]
async fn a_lost_nodes_job_is_done_by_another() {
    let url = server().await;
    let mut first = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(2, true).await;
    first.job().await;
    let mut second = Node::register(&url, "n2", "zh", "en", 1).await;
    drop(first);
    let job = second.job().await;
    assert_eq!(job.attempt_id, 2);
    assert_eq!(job.audio.as_str(), peers::audio(2));
    second.answer(&job, "again").await;
    assert_eq!(client.translation().await.0, "again");
}

#[tokio::test]
async fn the_newer_socket_of_a_node_wins() {
    let url = server().await;
    let mut old = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut new = Node::register(&url, "n1", "zh", "en", 1).await;
    let told = old.hear().await.expect("the old socket is told");
    assert!(told.contains("NODE_ID_CONFLICT"), "{told}");
    assert_eq!(old.hear().await, None, "and closed");
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = new.job().await;
    new.answer(&job, "new").await;
    assert_eq!(client.translation().await.0, "new");
}

#[tokio::test]
async fn nobody_speaks_for_another() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut other = Node::register(&url, "n2", "ja", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    let mut thief = Client::open(&url, "zh", "en").await;
    thief.speak_as(client.session(), 1).await;
    assert_eq!(thief.error().await.0, "INVALID_SESSION");
    client.speak(1, true).await;
    let job = node.job().await;
    other.answer(&job, "forged").await;
    node.answer(&job, "true").await;
    assert_eq!(client.translation().await.0, "true");
}

#[tokio::test]
async fn frames_that_are_no_messages_are_answered_and_then_end_their_own_socket() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut rude = Client::open(&url, "zh", "en").await;
    for _ in 0..20 {
        rude.send(r#"{"type":"audio_chunk","seq":"x"}"#).await;
        assert_eq!(rude.error().await.0, "INVALID_MESSAGE");
    }
    assert_eq!(rude.hear().await, None);
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "unharmed").await;
    assert_eq!(client.translation().await.0, "unharmed");
}

#[tokio::test]
async fn a_whole_utterance_makes_one_job_however_often_it_is_sent() {
    let url = server().await;
    let mut node = Node::register(&url, "n1", "zh", "en", 4).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.say_whole(5).await;
    client.say_whole(5).await;
    let job = node.job().await;
    node.answer(&job, "once").await;
    assert_eq!(client.translation().await, ("once".to_owned(), 5));
    client.speak(1, true).await;
    let next = node.job().await;
    assert_eq!(next.utterance_index, 0, "the chunk path counts for itself");
    assert!(next.is_manual_cut);
}

#[tokio::test]
async fn what_a_node_said_is_known_before_what_is_spoken_later() {
    let url = server().await;
    for _ in 0..200 {
        let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
        let mut client = Client::open(&url, "zh", "en").await;
        client.say_whole(0).await;
        let job = tokio::select! {
            job = node.job() => job,
            (code, _) = client.error() => panic!("{code} though the node has reported"),
        };
        node.answer(&job, "heard").await;
        assert_eq!(client.translation().await.0, "heard");
    }
}
