<?php
// Parses forms with PHP's built-in parser: starts PHP's web server, posts each body to it, and collects $_POST and
// $_FILES. In the server, this script responds to the requests.

function part($name, $fileName, $type, $content): array
{
    return ['name' => (string) $name, 'fileName' => $fileName, 'contentType' => $type,
        'content' => base64_encode($content)];
}

/** Undoes the nesting that PHP makes of brackets in names: a[b][] becomes a[b][0]. */
function flat(array $values, string $prefix = ''): array
{
    $found = [];
    foreach ($values as $key => $value) {
        $name = $prefix === '' ? (string) $key : "{$prefix}[$key]";
        $found += is_array($value) ? flat($value, $name) : [$name => $value];
    }
    return $found;
}

function answer(): void
{
    $parts = [];
    foreach (flat($_POST) as $name => $value) {
        $parts[] = part($name, null, null, $value);
    }
    foreach ($_FILES as $name => $file) {
        if (is_array($file['error'])) {
            $columns = array_map(flat(...), $file);
            foreach ($columns['error'] as $key => $error) {
                $parts[] = uploaded("{$name}[$key]", array_map(fn ($column) => $column[$key], $columns));
            }
        } else {
            $parts[] = uploaded($name, $file);
        }
    }
    echo json_encode(['parts' => $parts], JSON_THROW_ON_ERROR);
}

function uploaded($name, array $file): array
{
    $isThere = $file['error'] === UPLOAD_ERR_OK;
    return part($name, $file['name'], $file['type'], $isThere ? file_get_contents($file['tmp_name']) : '');
}

function post(int $port, string $body, string $type): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST', 'header' => "Content-Type: $type\r\nConnection: close", 'content' => $body,
        'ignore_errors' => true,
    ]]);
    $text = file_get_contents("http://127.0.0.1:$port/", false, $context);
    return json_decode($text, true) ?? ['refusal' => $text];
}

function drive(string $folder): void
{
    $settings = ['max_file_uploads=5000', 'max_input_vars=5000', 'upload_max_filesize=64M', 'post_max_size=64M',
        'display_errors=1', 'html_errors=0'];
    $command = [PHP_BINARY, '-n'];
    foreach ($settings as $setting) {
        array_push($command, '-d', $setting);
    }
    array_push($command, '-S', '127.0.0.1:0', __FILE__);
    $server = proc_open($command, [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['pipe', 'w']], $pipes);
    // With port 0 the system chooses a port; the server prints it.
    while (!preg_match('~http://127\.0\.0\.1:(\d+)~', (string) ($line = fgets($pipes[2])), $found)) {
        if ($line === false) {
            fwrite(STDERR, "PHP's web server did not start\n");
            exit(1);
        }
    }
    stream_set_blocking($pipes[2], false);
    $forms = [];
    foreach (json_decode(file_get_contents("$folder/batch.json"), true) as $form) {
        $body = file_get_contents("$folder/{$form['file']}");
        $forms[] = ['id' => $form['id']] + post((int) $found[1], $body, $form['contentType']);
        // Drains the server's log so that it does not fill the pipe.
        stream_get_contents($pipes[2]);
    }
    proc_terminate($server, 9);
    proc_close($server);
    echo json_encode(['version' => 'PHP ' . PHP_VERSION, 'forms' => $forms], JSON_THROW_ON_ERROR);
}

PHP_SAPI === 'cli' ? drive($argv[1]) : answer();
