<?php
// Sends a text and a document. Needs API_URL, NUNCIO_TOKEN, FROM, TO, DOCUMENT_URL and ORDER in the environment.
declare(strict_types=1);

// The key belongs to what happened, not to the try: running this again for the same order sends nothing twice.
function send(string $key, array $message): string
{
    $body = json_encode(['from' => getenv('FROM'), 'to' => getenv('TO'), 'message' => $message], JSON_THROW_ON_ERROR);
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['x-api-key: ' . getenv('NUNCIO_TOKEN'), 'content-type: application/json', "idempotency-key: $key"],
        'content' => $body,
        'timeout' => 10,
        'follow_location' => 0,
        // A refusal has a body that says why.
        'ignore_errors' => true,
    ]]);
    foreach ([1, 2, 4, 0] as $wait) {
        $http_response_header = [];
        $reply = @file_get_contents(getenv('API_URL') . '/chat/api/v1/public/message/send', false, $context);
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
        $answer = $reply === false ? null : json_decode($reply, true);
        if ($status === 200 && ($answer['success'] ?? false) === true) {
            return headerOf('x-message-id', $http_response_header);
        }
        if ($status >= 300 && $status < 500 && $status !== 429) {
            $why = array_map(
                fn (array $error): string => "{$error['field']} {$error['code']}: {$error['message']}",
                $answer['data']['errors'] ?? [],
            );
            throw new DomainException(implode('; ', $why) ?: "status $status");
        }
        // Not accepted, or nobody knows: with the same key it is safe to send again.
        if ($wait > 0) {
            sleep((int) headerOf('retry-after', $http_response_header) ?: $wait);
        }
    }
    throw new RuntimeException("nobody knows; run this again (status $status)");
}

function headerOf(string $name, array $lines): string
{
    foreach ($lines as $line) {
        if (stripos($line, "$name:") === 0) {
            return trim(substr($line, strlen($name) + 1));
        }
    }
    return '';
}

$order = getenv('ORDER');
$media = ['name' => 'invoice.pdf', 'url' => getenv('DOCUMENT_URL'), 'caption' => 'Your invoice'];
$messages = [
    "order-$order-text" => ['type' => 'message', 'message' => 'Your order is on its way.'],
    "order-$order-invoice" => ['type' => 'document', 'media' => $media],
];
foreach ($messages as $key => $message) {
    try {
        $id = send($key, $message);
        echo "$key: accepted as $id\n";
    } catch (DomainException $refused) {
        fwrite(STDERR, "$key: refused: {$refused->getMessage()}\n");
        exit(1);
    }
}
