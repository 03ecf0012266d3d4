"""Ways of asking for something later, by kind, and lines that ask for nothing: one a line, as players type."""

LINES = """\
# remind
remind me in a quarter of an hour to check the bread
oi, remind me about the boat at noon will ya
could you please remind me tomorrow morning that I owe the miller two silver
remind me at sundown to shut the coop
pls remind me in 30 min to log off
in two hours, remind me to feed the horse
Would you be so kind as to remind me this evening to write to my sister?
when the sun goes down remind me to lock the gate
ping me in 5 mins
I need to leave at eight, can you remind me?
good keeper, I pray thee, remind me at dawn of mine oath
wake me at first light
wake me up in half an hour, would you?
can u give me a nudge in ten minutes about the stew
dont let me forget to pay the ferryman tonight
please to remind me in one hour for buy candles
you can remind me at 6 to go to market, yes?
Sage, be a dear and remind me at midnight to turn the wheel.
shout at me in twenty minutes so I don't burn the pie
reminder in 45 minutes: the meeting
make sure I remember to water the horse at noon
Remind me tomorrow at nine to sharpen the axe, if it's no trouble.
let me know when it's noon
tell me when an hour has passed
remind me to bank my coins before I go, say in 20 min
I have soup on the stove, poke me in eight minutes
k remind me 2 eat at noon
tomorrow at dawn remind me I owe you an apology
would it be possible to get a reminder at dusk about the guild vote?
be sure to remind me of the wedding tomorrow
yo remind me in like an hour that my laundry is out
remind us at midnight to swap the watch
could you wake me when the cock crows?
rouse me ere dawn, good fellow
I wish to be woken at six
give me a wake up call at 7
you must remind me in two hour about ship
say, in an hour's time, would you remind me to see the smith?
Librarian, a favour: at nightfall remind me to bring in the nets
please remember me in ten minutes to close the window
i need to go in 15, tell me when its time
remind me after supper that I promised Nell a dance
can you let me know once an hour has gone by
in thirty minutes tell me to stop reading
shake me awake at dawn would you
when I get back remind me to pay you
remind me when I return that the key is in the pot
next time I'm here remind me about the lute
remind me in 5
hey can you remind me at noon to sell the pelts
Marlo, in about an hour remind me about the meeting please
I always forget my pills. Remind me every morning?
remind me tomorow to visit the healer
please wake me up at dawn, I must not oversleep
wake me in an hour, I'm dozing off by the fire
set a reminder for 15 minutes from now
pls give me a shout in twenty so I don't miss the ferry
would you kindly let me know at dusk?
tell me when it's midnight
I beg thee, remind me on the morrow of my vow
when night falls, remind me to draw the curtains
tomorrow evening please remind me I have a duel
remind me next time we meet to tell you about the caves
you remind me at noon for eat, ok?
could you ping me in a quarter hour
got bread in the oven, remind me in 40 minutes
in ten mins can u tell me to get off and go to bed
if I'm still here at midnight, tell me to go home
Sage dear, I'd appreciate a reminder at sunset about the goats
do not let me sleep past dawn
at first light rouse me
remind me of this conversation in an hour
remind me at noon
remind me to stretch in 20 min
could you remind me about dinner this evening?
Can you wake me at seven?
please remind me in two hours that the kiln is hot
in 10 minutes, remind me to check the snares
hey, remind me tonight to feed the owl thx
wake me before dawn please
i should leave at noon. remind me then
when i come back remind me about the map
give me a reminder in half an hour
let me know in 15 minutes
tell me at dusk that I must go home
Good sir, pray remind me at sunset to say my prayers
remind me tomorrow about the auction, will you?
tell me when it gets dark
I've got to go in 20 minutes, give me a nudge
you can wake me in the morning
please wake me when sun rises
remind me every evening to lock up
would you remind us in an hour to move on
set an alarm for dawn
5 min reminder pls
remind me later to sharpen my knife
remind me in a bit to eat
wake me up at noon pls
at dawn remind me to thank the priest
could you tell me when half an hour has passed
remind me to leave in ten minutes
remind me when I get back to ask about your brother
don't forget to remind me at dusk
please remind me at nine tonight to blow out the candle
nudge me in 3 minutes
Hey Sage! Remind me tomorrow at dawn about the hunt!
be so good and wake me at first light
remind me in fifteen minutes i have a quest
if you would, remind me at sundown of the guild dues
an hour from now remind me to check the pot
set a timer for three minutes please
tell me in half an hour to go to sleep
i need a reminder at noon about my shift
I shall nap; wake me in an hour
remind me before dusk to bring in the washing
wilt thou wake me at dawn?
next time I come in, remind me I owe you a drink
remind me every hour to drink water
please you remind me in one hour
shout to me in five minutes
# tell
tell Ann when she comes in that the letter arrived
when Ann gets here tell her I went to the mill
if you see Ann, tell her I'm sorry
could you let Ann know that supper is at seven when she turns up?
next time Ann stops by, say that her boots are ready
please pass on to Ann that the horse is fed
give Ann my regards when she arrives
when ann logs on tell her guild meeting is moved
let me know when Ann shows up
tell me if Ann comes by
gimme a shout when Ann is here
Ann will come later. Tell her the key is under the mat.
should Ann return, pray tell her that I wait at the ford
prithee inform the lady Ann, when she cometh, that her knight is gone
as soon as Ann walks in, tell me
I'd like you to tell Ann, once she is back, that the deal is off.
pass a message to ann for me: bridge is out
when Ann come, you say her I am in the tavern, ok?
can you warn Ann about the wolves when you see her
notify me the moment Ann arrives
when you next see Ann, would you tell her thank you from me?
remind Ann to bring the rope when she comes
if Ann asks, tell her I am at the docks
leave word for Ann that I took the grey mare
tell Ann the smith was looking for her, when you see her next
Ann should be along soon; let her know I couldn't wait
when my sister Ann arrives, say I am upstairs
let Ann know when she's here that I left the rope
i gtg, tell ann i said bye when shes on
could you mention to Ann, if she drops by, that the cow calved?
If Ann happens to come in, ask her to wait for me
Do me a kindness: when Ann comes, hand her my greetings
bid Ann welcome from me when she arriveth
when Ann is back inform her the council said yes
I'm expecting Ann. When she gets here tell her I'm in the cellar.
anyone sees ann tell her im at the mill lol, you too sage when she comes
once Ann shows her face, tell her she owes me five silver
tell Ann I love her the next time she walks through that door
alert me when Ann comes through the gate
let me know the minute ann logs in
holler if Ann turns up
I need to speak with Ann, call me when she's here
would you fetch me when Ann arrives?
please to say me when Ann is coming
whisper to Ann when she comes that the plan is on
ask Ann whether she found my ring, when she next comes by
if Ann shows up while I'm gone tell her to stay put
make sure Ann hears that the bridge is closed when she comes back
tell Ann when you see her that the rope held
when Ann comes back tell her I've gone fishing
let me know when ann comes back
ann is supposed to come tonight, tell her the back door is open
can you pass a message to Ann? The wedding is on.
if Ann comes looking for me, I'm at the docks
Could you tell Ann I said hi the next time she is in?
when Ann next logs in please let her know the raid is at nine
please inform Ann upon her return that the seal was broken
say hi to Ann for me when she comes round
I owe Ann an apology; when she comes, tell her I'm sorry
shout if you see Ann
wave me over when Ann gets in
give Ann this message when she arrives: meet me at the ford
prithee, shouldst thou see Ann, tell her I await her by the mill
when will come Ann, tell her that I am waiting outside
let Ann know I'm upstairs as soon as she's here
once Ann has arrived, could you come tell me?
I must know the moment Ann sets foot in here
tell anyone called Ann who comes by that her cart is fixed
if my friend Ann shows up, tell her I waited as long as I could
ask Ann to write to me when she comes in
when you meet Ann remind her of our bet
tell ann her package came wen she gets bak
tell Ann when she gets back that I left for Harl
tell me when Ann gets back
when Ann comes tell her the soup is hot
can you tell Ann I'm in the attic when you see her
if Ann comes in please let me know
let Ann know when she returns that I paid the smith
when Ann shows up, ask her where she put my axe
give Ann a message: the ship sails at dawn
say goodbye to Ann for me when she comes by
I'll be upstairs, call me when Ann arrives
please tell Ann on her return that all is well
next time you see Ann tell her thanks for the pie
as soon as Ann arrives tell her to hurry
Ann's late. When she turns up tell her I couldn't wait.
tell Ann to meet me at the mill when she comes
should Ann drop by, tell her I am sleeping
when my wife Ann comes home tell her I'm fishing
please ask Ann for the key when she comes
notify me when Ann comes online
if Ann stops in, let her know her shoes are mended
I need to know when Ann is here
pass this on to Ann: the guard has been bribed
if you meet Ann, warn her of the wolves
when Ann comes please say her hello from me
tell Ann that I love her when she comes in
if Ann should come, tell her the doctor was here
when you see Ann say I'm sorry
let me know if Ann comes
would you let me know when Ann is back?
tell Ann when she is here next that her father is ill
please give Ann my love when she comes
i wait for ann, tell me when she come
Ann is coming later. Please tell her I had to leave.
greet Ann from me when she arrives
as soon as you see Ann, tell her to come to the mill
when Ann wakes up tell her breakfast is ready
when Ann walks through that door tell her I won
tell me the moment Ann walks in
I have a message for Ann: the price has gone up
kindly inform Ann when she comes that her horse is saddled
warn Ann when she gets here that the baron is angry
could you pass my thanks to Ann when she comes by?
ask Ann if she wants to trade when you see her
once Ann is here please poke me
ping me when ann is on
if you happen to see Ann, say hello
Ann might drop by; if she does, tell her I'm at the forge
have Ann wait for me when she comes
# mind
mind the fire every evening
water the roses every morning please
can you feed the cat each night while I'm away
would you light the lamps every evening?
sweep the hall daily
every day at noon, ring the bell
could you look after the garden every morning for me
please keep the fire going each night
each dawn, open the shutters
Every night lock the gate, alright?
make sure the stove is lit every morning
check the traps every day at dawn
I want you to polish the silver every evening
tend the herbs each morning, good sage
wind the clock every night, it forgets otherwise
see to the horses every evening, will you
you please clean table every night
nightly, put out the candles
thou shalt feed the ravens every morn
go and check on the well every morning
from now on feed the chickens every morning
stir the kettle every hour
take care of the goats every morning
daily at sunset, light the beacon
keep the lamps trimmed every night please
I'd be glad if you'd sweep the steps each morning
the cat wants feeding every evening, could you do that?
could I ask you to water my tomatoes daily?
stoke the fire every night before bed
each evening, see that the hearth is lit
put fresh flowers in the vase every morning
every single morning dust the shelves please
would you mind the bees for me every day?
pls feed my dog every day at noon
you will tend the altar each dusk
tend to my mule each morning
look in on old Tom every evening
every evening at sunset light the lanterns along the pier
sweep floor every morning ok?
watch over the flock nightly
can u clean the stables every day
Be a dear, feed the geese each morning and evening
brush down the horses every night
every dawn raise the flag
might you trim the wicks each evening, friend?
check on my mother every afternoon please
keep the kettle warm each morning
I want the windows washed every morning
feed the cat every morning
please water the plants every other day
light a candle in the window every evening
would you be willing to sweep the porch each morning?
take the dog for a walk every evening
keep the fire alive every night for me
polish my boots each night, will you
clean my room every day please and thank you
every evening check that the gate is shut
dust the books daily, they gather so much
tend the grave every evening, for my sake
I'd love it if you watered my herbs each morning
feed the fish twice a day
each night, blow out the lamps
mind the shop every afternoon while I nap
wilt thou tend the sacred flame each night?
pls watch over my horse every night
look after grandmother every morning
please to clean floor each day
every morning wind up the clock
refill the lamp oil every evening
you should water the garden every dawn
could the hearth be swept every morning?
groom the ponies daily at noon
feed the chickens every morning
please light the lamps each evening
sweep the floor every night
water my plants daily please
can you mind the fire every night?
check the door every night
tend the garden every day
every morning, feed the cat
you must clean the stable every morning
would you polish the bell each week?
look after my horse every night
each evening light the fire please
keep the lantern burning every night
Sage, water the ferns every afternoon
stoke the oven each dawn
will you feed my goldfish every day while I travel
please ring the bell at noon every day
dust the shelves every day, would you
guard the gate every night
pls sweep da hall every day
I would like you to tend the bees each morning
wash the windows every week
I want the lamps lit every evening
brush my pony every evening
please water the flowers each evening
feed the pigs every morning
can you look after the fire each night
clean the tables every evening please
every night check the locks
mind my garden every day till I'm back
would you feed the birds each morning for me
Sage, tend the candles every evening
polish the counter daily
please sweep the steps every morning
light the hearth each morning
each night you feed the dog, yes?
keep the lamps lit every night
would you be so kind as to dust the shelves every week
stir the soup every hour
see to the stove every morning
every evening, water the herbs in the yard
make sure the chickens are fed every morning
ring the bell every evening at six
take care of my plants every day
prithee feed mine hounds each morn
look in on the baby every hour
trim the lamp each evening
it would be lovely if you could feed the cat every evening
# come
come back in an hour
meet me at the mill at noon
be here again in twenty minutes
come see me at dusk
could you come back here tonight
return in ten minutes please
come to the square at sunset
come find me at the well in half an hour
why don't you meet me at the mill tomorrow morning
I'll see you at the mill at noon, ok?
let's meet at the square at nightfall
go home and come back at noon
please be at the mill at dawn
get back here in 15 min
would you meet us by the well this evening?
be at the square by eight
hither again at dusk, good sage
come again tomorrow
you come back after one hour, please
join me at the mill in an hour
show up at the well at midnight, alone
can we meet at the square at noon?
swing by the mill in an hour
return to this place at dawn, I beg of you
come back before supper
be back by dusk please
find me at the inn after dark
come over to the mill in ten
pop by the smithy at noon would you
I need you at the gate at dawn
see me at the tavern tonight
come to me at the ford when the sun sets
could we meet in the garden in a quarter of an hour
please arrive at the chapel at noon
be so good as to return in half an hour
would you come by tomorrow evening?
get yourself to the docks by nightfall
head to the mill at dawn and wait for me there
how about we meet at the fountain at eight
go to the well in ten minutes
after one hour you come back here please
i want u back here in 20 minutes
meet us at the barn at first light
return hither at eventide
go away and come back in five minutes
look me up at the inn at ten
let us meet again here tomorrow at noon
Sage, at dusk come down to the landing
come back at noon
be back here in half an hour please
meet you at the mill at noon?
let's meet by the old oak at dusk
come join me at the inn tonight
visit me at the smithy tomorrow
return when the sun sets
come here again in ten mins
be at the gates when the sun rises
can you be at the mill by noon?
I'll wait for you at the mill at noon
shall we meet at the well at midnight?
go to the market at dawn, I'll be there
run along and come back in a little while
please come back here later
I want you at the bridge at dusk, understood?
attend me at the chapel at nightfall
come to mill at noon please
find me by the river in twenty minutes
you and me, the tavern, at eight
be in the garden an hour from now
would you come to the smithy in a bit
check back here in fifteen minutes
rejoin me here at sundown
come back in ten minutes
meet me at the mill at dusk
be here at noon
come to the mill at noon
come back later
can you come back tonight?
meet me by the well in an hour
let us meet at the inn this evening
please return at dawn
come back here in 5
see me at noon at the mill
go to the mill and come back in an hour
would you meet me here at midnight
please come at noon to the square
come to see me tomorrow
be at the well before dark
join us at the inn after supper
I'd like you to come back in half an hour
be back in an hour
come find me at the inn tonight
come home before dark
visit me tomorrow evening
let's meet here at dawn
you meet me at mill at noon, ok?
come back at dusk
be back at noon please
could we meet at the inn tonight?
come to the inn after supper
meet me here in an hour
meet me tomorrow at the well
come back in a few minutes
go to the mill at noon
let's meet in the square tomorrow morning
please come back tomorrow
return here by nightfall
come over to the inn in half an hour
be at the dock at six
can you come to the mill at dawn?
come visit me at the farm tomorrow
come by in an hour
would you mind coming back in ten minutes?
we meet at the well at midnight, ok?
stop by the farm at noon
see you at the mill at noon then, ok?
be on the bridge at sunset
I need you back here by noon
wait at the mill at noon
pls come back in 10 mins
# wait
wait here until I am back
stay here till I return
wait for me here
hang on here for five minutes
don't go anywhere until I come back
stay put for half an hour
please wait here while I fetch the horse
could you keep an eye on my bag until I get back
watch my stuff for ten mins
guard the door until I return
do not move until I come back
stay right here till noon
remain here until dawn, I beseech thee
tarry here until my return
wait for Ann here
can u stay here for a bit, brb
hold the fort till I'm back
you wait here until i come, yes
mind my horse until I am back
wait a few minutes for me, will you
keep watch here until sunrise
stay with my cart for an hour
sit tight till i get back
dont leave before Ann is here
wait right there till i get back from the loo
hold my place here until I come back
stay where you are until I return with the key
wait up here for ten minutes ok
don't you move till I'm back
pls stay, ill be back in 5
wait at the gate until I come back
stay with Ann until I return
remain at thy post until I come again
I'll be right back, wait here
watch the door while I'm gone
would you sit here until I come back?
keep an eye on the stew for ten minutes
stand guard here till dawn
don't wander off before I'm back
just chill here till i'm back
could you hang around here for half an hour
wait here for Ann to come
you stay here, I go bring water, then I come back
keep watch over my pack while I sleep
stay put til noon
I'm off to the mill; wait here for me
guard this spot until I'm back, soldier
don't go away, I'll be back in a minute
wait here till I come back
stay here a minute, I'll be right back
please don't leave until I return
stay with the wagon till I get back
wait for me by the gate until I'm back
could you guard my stuff while I'm away
keep an eye on things here until I return
I need to pee, wait here
wait here for an hour
do not leave this room before dawn
you must stay here until i come back
hold on here till I fetch the others
stay as you are until my return
abide here till I come again
look after the baby until I get back
watch this spot for half an hour please
stay here, I will return shortly
wait here until Ann comes
remain where you stand until I am back
don't budge till i say so
park yourself here until I'm back
would you mind staying here till I'm back?
keep my seat until I return
guard the chest for ten minutes
wait here till I'm back
stay here until I return
please wait here
wait here five minutes
don't move until I get back
stay with the horses until I return
watch my bag while I'm gone
wait here for me, I'll be back soon
guard this door until I come back
stay here for half an hour
could you wait here until dusk?
keep an eye on my cart for ten minutes
please stay here until morning
wait here while I get my coat
don't leave till I say
stay there till I come
wait for me outside until I'm done
hold this spot until I return
remain here until Ann arrives
I'm going to the mill, stay here
just stay here till I'm back ok
you wait here for me
wait for me here a little
mind my dog until I come back
wait here until I return
stay here while I look for the key
please stay put until I come back
wait right here, I'll be back in a minute
don't move an inch until I return
stay where you are till I get back
watch the fire until I'm back
hold on here for ten minutes
keep watch until I come back
guard the gate till dawn
could you stay here until Ann comes?
look after my cat while I'm away
wait for five minutes here
do not go anywhere until noon
stay in the kitchen until I call you
you will wait here until I return
please watch my things till I come back
stay here with the child till I return
I'm going to get help, wait here
stand by the door until I am back
watch my horse for an hour
wait here for a few minutes
don't leave this place until I'm back
wait till I come back
# none
I always feed the cat in the evening
do you remember when Ann came here?
what time is it
the sun goes down so early now
my mother used to remind me to wash my hands
Ann told me you would be here
I'll be back in an hour
see you tomorrow
I was waiting for you at the mill yesterday
how long have you been here?
tell me about the fire of last winter
who minds the fire here?
what do you do every evening
do you sleep at night
tell me a story
when does the inn open?
I have to meet Ann at noon
the baker comes every morning with bread
come in
come here
wait, what?
wait a second, did you say wolves?
hang on
stay safe out there
stay away from the mill
be careful at night
did Ann tell you anything?
has Ann been here today
when will Ann be back?
why would I wait for him
I can't wait until the fair
it reminds me of home
you remind me of my uncle
this place reminds me of the old mill every time I come
remind me, what was your name again?
what would you do if Ann came in?
tell Ann
say hello to Ann
tell me when you were born
tell me when the war ended
let me know what you think
I will remind you of your debts one day
she waters the roses every morning, you know
Do you water the roses every morning?
I should water the roses tomorrow
meet Ann, she is my sister
nice to meet you
I met her at the mill at noon
the mill burns at night
where were you at dawn?
at dawn the ravens come
in an hour it will be dark
ten minutes ago a man ran past
he waited here for an hour
they come back every summer
if only Ann would come back
I'd rather wait outside
shall I wait here?
should I come back tomorrow?
can I come back in an hour?
may I stay here till dawn?
I'm going to stay here for a while
we stayed till midnight
what happens at midnight?
is it true that the dead walk at midnight
don't tell Ann
never tell Ann about this
don't come back
go away
leave me alone
leave it
keep the change
keep your voice down
watch out!
watch your tongue
watch me do this
look after yourself
guard dogs are barking
the guard at the gate let me pass
my watch says noon
every evening I sit by the fire
the fire is lit every evening, isn't it
I lock the gate every night
lock the gate
feed the cat
light the lamp
open the door please
ring the bell
will you come with me
follow me
come with me to the mill
go to the mill
let's go to the square
I wish you would come back in an hour, joked the miller
Ann says come back in an hour
"wait here until I am back", he said, and never came back
he told me to wait here until he is back
my dad told me to remind you
did anyone ask you to remind them of something?
what did you promise me?
who asked you to wait?
you said you would remind me at dawn
have you reminded Ann?
have you fed the cat this evening
thanks for waiting
thank you for telling Ann
good morning
good night, till tomorrow
until we meet again
lol brb
afk 5 min
back in ten
gtg, ttyl
wolves come at night, stay inside
one day I'll tell Ann how I feel
when Ann comes, everyone laughs
when she comes home she feeds the dog
if you see a wolf, run
if you wait long enough, everything passes
in ten minutes anything can happen
tomorrow is another day
tonight we feast
the bell rings every hour
the cat wants feeding every evening
I sweep the steps each morning
we light the lanterns at sunset
she rings the bell at noon
do they ring the bell at noon?
what should I do every morning
have you ever been woken at dawn by a cock
I was woken at six
the smith was looking for Ann
Ann should be along soon
Ann is at the mill
I'm expecting Ann
I met Ann when she came back
my sister Ann arrives tomorrow
do you know when Ann arrives?
if Ann happens to come in I'll hide
Ann said she'd be here at noon
when is supper?
is supper at six
I couldn't wait
I couldn't wait for Ann
who told Ann?
what did you tell Ann when she came?
I'll tell Ann when she comes
I'll wait here
I'll wait here until you are done
we can wait
let's wait here for Ann
let's go back before supper
we must be back by dusk
be back soon
I'm coming back tomorrow
will you still be here tomorrow?
are you here every day
do you open at dawn?
when do you close at night
how late do you stay open
what do you do after dark?
the inn after dark is a rough place
they say the mill is haunted after dark
I saw a light at the mill tonight
last night the dog barked until dawn
it rained till noon
until then, farewell
see you at dusk
see you at the inn
see me at my best
find me a rope
find Ann
fetch the smith
fetch me some water please
bring me an ale
call me Tom
call me when hell freezes over
wake up!
wake up, it's noon already
did I wake you
don't wake the baby
let sleeping dogs lie
let me know if you need anything
let me know how I can help
tell me when your birthday is
tell me if I bore you
tell me how to get to the mill by dusk
tell me what you do each morning
tell me again
tell Ann she looks lovely
ask Ann about the ring
ask me again tomorrow
ask the smith
warn the others
I warned Ann when she came
keep quiet
keep it simple
keep going until you reach the well
keep walking till you see the tree
stay out of the cellar
stay calm
stay with me
stay for supper
stay a while and listen
wait for it
wait, I'll come with you
wait till you see this
wait till you hear what he did
hold this
hold on a minute
hold your horses
hang around with the wrong people and you end up in jail
mind the step
mind your head
mind if I sit here?
would you mind if I sat here for a while
I don't mind waiting
never mind
no need to wait
no need to remind me
I remember when Ann was little
remember when we met at the mill at noon?
remember me?
remember what I told you
I forgot to feed the cat this morning
who feeds the cat when you're away
who lights the lanterns at sunset?
does anyone water the roses while you are gone?
guards change every hour
the guards stay at the gate until dawn
the ferry goes in ten minutes
the bread will be done in an hour
my shift ends at six
I get off at noon
by nightfall we will be far away
at midnight the gates close
come hell or high water
come again?
come on, tell me
come to think of it, I saw Ann at noon
go on
go home, it's late
return of the king
I return tomorrow
every day the same
each morning I wake up tired
good evening, have you eaten
this evening was lovely
a day at the mill is like an hour in the mines
in the morning I leave for Harl
I always forget my pills
I must not oversleep
I dozed off by the fire
the meeting is at noon
my watch stopped at noon
the ferry leaves at dusk
when does the ferry leave?
do you know when it gets dark
it gets dark early
night falls quickly here
I have a duel tomorrow evening
have you got bread in the oven?
the oven takes forty minutes
I'll tell you about the caves next time we meet
I'm still here
are you still here?
go to bed
go home
I go home at midnight
the rope held when Ann climbed down
Ann has gone fishing
Ann went home at noon
when did Ann leave
is Ann supposed to come tonight?
Ann comes here every evening
Ann usually comes at noon
I owe Ann an apology
tell me, do you like Ann?
what would Ann say if she came in now
I told Ann I'd wait
who is Ann waiting for
Ann, wait!
is anyone called Ann here
I waited as long as I could
let me wait here
I can wait till noon
I can't stay long
I can't stay until dusk
we're staying at the inn tonight
the cat is fed every morning
does anybody feed the cat?
the plants need water
I take the dog for a walk every evening
every other day it rains
the gate is shut every evening
who shut the gate
I polish my boots each night
you keep your room clean
the shop is closed every afternoon
what happens here each night?
does the sacred flame burn every night
grandmother gets up at dawn every morning
the clock strikes every hour
she watered her herbs each morning
my horse bolts every night
do you ever go to the mill?
shall I meet you at the mill?
where shall we meet?
when shall we meet again
it was nice to meet you, see you tomorrow
see you around
see you at the feast tonight
see you in ten
I'll see you later
later!
I'll be at the mill at noon
I'll be there at dusk
I'm off to the mill, back at noon
we meet every morning at the well
the old oak fell at dusk
is it a long walk to the well at night
the sun rises over the gates
the sun sets
be gone by noon, stranger, said the guard
be patient
be nice
be honest with me
be my guest
be quiet for a minute
be still
hush, stay quiet
stay away until you learn some manners
wait a minute
wait a minute, are you the keeper?
wait and see
just wait
you wait
wait your turn
hold on
hold still for a second
hold my hand
hold that thought
keep talking
keep that in mind
keep an open mind
watch and learn
guard your secrets
look after the pennies and the pounds look after themselves
look at the baby
my mother looks after the baby until I get back
he guards the chest day and night
who guards the chest at night?
park here
don't move
don't go
don't leave me
don't say that
don't be late
don't wait up
never leave a fire alone at night
nobody leaves before dawn
no one may leave the hall until the king has eaten
until tomorrow then
by dawn we shall be rich or dead
before dawn the wolves are worst
after midnight nothing good happens
half an hour ago I saw him by the river
twenty minutes is too long
an hour from now it will all be over
in a bit of a hurry today
in a while, crocodile
once upon a time at midnight
once bitten twice shy
as soon as I saw her I knew
what's for dinner this evening
I remind people of my father
can you see the mill from here
the kiln is hot in two hours
I check the snares at dawn
it gets dark at six
I go home at dusk
we lock up every evening
he wakes at seven
she woke me in the morning
did you sleep until noon?
I slept till noon
Ann is back
Ann left for Harl at dawn
who is Ann
where is Ann tonight
I saw Ann at the mill at noon
Ann said to wait
Ann asked me to wait here until she came back
Ann and I meet at the mill every evening
has Ann told you anything
I'd tell Ann, but she is asleep
the ship sails at dawn
is the ship late?
tell me about the ship
tell me of Ann
tell me more later
talk to you later
see you tonight, Sage
until tonight!
good night
I'm tired, good night
I feed the chickens every morning
chickens lay every morning
who lights the lamps each evening?
do the lamps burn all night
the bell rings at noon
that bell rings every day
what rings at noon every day
my goldfish died
how do you feed goldfish every day
you look after horses, don't you
the gate is guarded every night
who guards it at night?
when is the gate closed
close the gate
polish it
light a fire
water, please
a mug of ale, please
I want ale
I want to go home before dark
I'd like to come back tomorrow
I would come back in an hour if I could
he said come back in ten minutes
we came back in ten minutes
it came back at noon
they meet at the inn after supper
meet my horse
the mill is far
is there a mill
how far is the mill
go there at once
come quickly
come and see
come closer
come to me
come to your senses
come on in and sit down for a while
be good
be well
be here now
be my friend until the end
stay
stay here
stay close
stay behind me
stay awake
wait
wait wait wait
wait for us
wait a bit
wait, is it noon already?
I will wait
I'm waiting for Ann
I waited until dusk
don't wait
don't go there at night
don't go out after dark
don't go to the mill before noon, they say
don't sleep
don't stop
don't be afraid of the dark
never go there alone at night
watch out for wolves at night
watch the stars tonight, they are beautiful
look at that
look out
mind you, it was noon
I mind my own business
do you mind waiting?
my dog waits until I come back
the guard waits here until dusk
nobody waits for me
keep it
keep quiet until he is gone
keep your hands off until I say so
hold it
hold my beer
leave
leave me a slice
leave at dawn, before they wake
by the way, what time is it
at your service
at last
for now
for an hour I saw nothing
for ten minutes he talked
in no time
in an instant he was gone
in the evening we sing
on the morrow he died
each to his own
every dog has his day
every time I come here it rains
once more
after you
after an hour I gave up
I love Ann
is Ann here
the doctor was here at noon
do you love Ann?
Ann won at dice tonight
I have to leave
I had to leave at dawn
I shall nap
I nap at noon
your brother came by an hour ago
has your brother come back
who feeds the pigs
the pigs eat every morning
I owe you a drink
drink water every hour, the healer says
the soup needs stirring
is the soup ready
I clean the tables every evening
do you polish the counter daily?
the locks hold
which bell rings at six
my father is ill
my hounds run each morning
is the baby asleep at noon
tomorrow is market day
tomorrow we ride
what do you do tomorrow?
what will you do at noon
will Ann come tonight
when does Ann come
how often does Ann come here
I came back at dusk
I come here every evening
we meet at the well
they met at the well at midnight
where is the well
the dock burned at six
look for the key
look here
get help
call me when you can, says my mother
stay a bit
stay out of it
stay warm tonight
sleep well until morning
wait for the right moment
wait until you hear the best part
don't go anywhere near it
watch the fire dance
guard your heart
the child stays with me
stand up
stand by
stand by me
hold on tight
keep your word
keep watch, brother, said the old one
the gate is guarded till dawn
by noon it will rain
in an hour the tide turns
in ten minutes I'll be gone
after supper I smoke a pipe
before dusk I must be home
at sunset the bridge is red
every night I dream of her
each night the same dream
have a good evening
enjoy your evening
thanks, see you in an hour
back in an hour
be right back
I'll be right back
I'll return tomorrow
I'll meet Ann at noon
I'll tell Ann myself when she comes
Ann will tell you when she comes
let Ann sleep
let her go
"""
