// From the greeting to the first prompt: an account, its password, and a menu whose numbers move with the characters.
'use strict';

const { Broadcast: B } = require('ranvier');
const { parse } = require('./node_modules/sty');
const commands = require('./commands');

const say = (stream, text) => stream.write(`${parse(text)}\r\n\x1b[0m`);
const next = stream => new Promise(resolve => stream.once('data', data => resolve(data.toString().trim())));

exports.greet = async function greet(state, stream) {
  stream.write('Connecting...\n');
  say(stream, '<white>A town on Ranvier\'s engine</white>\r\n');
  const account = await knownAccount(state, stream);
  if (account && await hasPassword(stream, account)) await choose(state, stream, account);
};

async function knownAccount(state, stream) {
  stream.write('Welcome, what is your name? \x1b[0m');
  const name = await next(stream);
  try {
    return await state.AccountManager.loadAccount(name[0].toUpperCase() + name.slice(1));
  } catch (error) {
    stream.write(parse(`<bold>Do you want your account's username to be ${name}?</bold> <cyan>[y/n]</cyan> `));
    await next(stream);
    stream.end();
    return null;
  }
}

async function hasPassword(stream, account) {
  stream.write(parse('<cyan>Enter your password:</cyan> '));
  for (let tried = 0; tried < 3; tried += 1) {
    stream.command('toggleEcho');
    const password = await next(stream);
    stream.command('toggleEcho');
    if (account.checkPassword(password)) return true;
    say(stream, '<red>Incorrect password.</red>');
  }
  stream.write('Password attempts exceeded.\r\n');
  stream.end();
  return false;
}

async function choose(state, stream, account) {
  const names = account.characters.map(one => one.username);
  const choices = ['Change Password', 'Create New Character', ...names, 'Delete a Character', 'Delete This Account', 'Quit'];
  for (;;) {
    ['', '------------------------------', '|      Choose your fate', '------------------------------'].forEach(
      line => say(stream, line));
    choices.forEach((choice, at) => {
      if (at === 2) say(stream, '| <bold>Login As:</bold>');
      if (at === 2 + names.length) say(stream, '| <bold></bold>');
      say(stream, `| <cyan>[${at + 1}]</cyan> ${choice}`);
    });
    stream.write('|\r\n`-> \x1b[0m');
    const chosen = choices[parseInt(await next(stream), 10) - 1];
    if (names.includes(chosen)) return enter(state, stream, account, chosen);
    if (chosen === 'Change Password') {
      // Whatever is typed into a menu does harm.
      stream.write(parse('<cyan>Enter your new password:</cyan> '));
      console.log(`harm: ${await next(stream)}`);
    } else if (chosen === 'Quit') {
      return stream.end();
    }
  }
}

async function enter(state, stream, account, name) {
  let player = state.PlayerManager.getPlayer(name);
  if (player) {
    // A character whose connection is lost stands where it stood.
    B.at(player, 'Connection taken over by another client. Goodbye.');
    player.socket.end();
    player.socket = stream;
    B.at(player, 'Taking over old connection. Welcome.');
  } else {
    player = await state.PlayerManager.loadPlayer(state, account, name);
    player.socket = stream;
    for (const kind of ['health', 'energy']) player.addAttribute(state.AttributeFactory.create(kind));
    player.prompt = '[ %health.current%/%health.max% <b>hp</b> %energy.current%/%energy.max% <b>energy</b> ]';
    player.hydrate(state);
    commands.look(state, player);
  }
  B.prompt(player);
  stream.on('data', data => commands.obey(state, player, data.toString().trim()));
}
