"""Every command of stock Evennia 5.0.1 and 6.1, by its class: what an assistant may have of it.

A number is the permission that resolving it asks for; DENIED means that policy refuses it whoever asks; SPEECH that
there are tools for it; NEVER that it never reaches a character: it is no command but the base of some, or belongs to
those who are not logged in yet.
"""

DENIED, SPEECH, NEVER = "denied", "speech", "never"

STOCK: dict[str, int | str] = {
    # account
    "CmdCharCreate": DENIED, "CmdCharDelete": DENIED, "CmdColorTest": 0, "CmdIC": DENIED, "CmdOOC": DENIED,
    "CmdOOCLook": 0, "CmdOption": DENIED, "CmdPassword": DENIED, "CmdQuell": DENIED, "CmdQuit": DENIED,
    "CmdSessions": DENIED, "CmdStyle": 0, "CmdWho": 0, "MuxAccountLookCommand": NEVER,
    # admin
    "CmdBan": 5, "CmdBoot": 4, "CmdEmit": DENIED, "CmdForce": DENIED, "CmdNewPassword": DENIED, "CmdPerm": DENIED,
    "CmdUnban": 5, "CmdWall": 4,
    # batchprocess
    "CmdBatchCode": DENIED, "CmdBatchCommands": DENIED, "CmdStateAbort": DENIED, "CmdStateBB": DENIED,
    "CmdStateBL": DENIED, "CmdStateCC": DENIED, "CmdStateHH": DENIED, "CmdStateJJ": DENIED, "CmdStateJL": DENIED,
    "CmdStateLL": DENIED, "CmdStateNL": DENIED, "CmdStateNN": DENIED, "CmdStatePP": DENIED, "CmdStateQQ": DENIED,
    "CmdStateRR": DENIED, "CmdStateRRR": DENIED, "CmdStateSL": DENIED, "CmdStateSS": DENIED,
    # building
    "CmdCopy": 3, "CmdCpAttr": 3, "CmdCreate": 3, "CmdDesc": 3, "CmdDestroy": 3, "CmdDig": 3, "CmdExamine": 3,
    "CmdFind": 3, "CmdLink": 3, "CmdListCmdSets": 3, "CmdLock": DENIED, "CmdMvAttr": 3, "CmdName": 3, "CmdObjects": 3,
    "CmdOpen": 3, "CmdScripts": DENIED, "CmdSetAttribute": 3, "CmdSetHome": 3, "CmdSetObjAlias": DENIED,
    "CmdSpawn": DENIED, "CmdTag": 3, "CmdTeleport": 3, "CmdTunnel": 3, "CmdTypeclass": DENIED, "CmdUnLink": 3,
    "CmdWipe": 3, "ObjManipCommand": NEVER,
    # comms
    "CmdChannel": SPEECH, "CmdDiscord2Chan": DENIED, "CmdGrapevine2Chan": DENIED, "CmdIRC2Chan": DENIED,
    "CmdIRCStatus": 3, "CmdObjectChannel": SPEECH, "CmdPage": SPEECH, "CmdRSS2Chan": DENIED,
    # general
    "CmdAccess": 0, "CmdDrop": 0, "CmdGet": 0, "CmdGive": 0, "CmdHome": 3, "CmdInventory": 0, "CmdLook": 0,
    "CmdNick": DENIED, "CmdPose": SPEECH, "CmdSay": SPEECH, "CmdSetDesc": 0, "CmdWhisper": SPEECH,
    "NumberedTargetCommand": NEVER,
    # help
    "CmdHelp": 0, "CmdSetHelp": 2,
    # muxcommand and syscommands
    "MuxAccountCommand": NEVER, "MuxCommand": NEVER, "SystemMultimatch": NEVER, "SystemNoInput": NEVER,
    "SystemNoMatch": NEVER,
    # system
    "CmdAbout": 0, "CmdAccounts": DENIED, "CmdPy": DENIED, "CmdReload": DENIED, "CmdReset": DENIED,
    "CmdServerLoad": DENIED, "CmdService": DENIED, "CmdShutdown": DENIED, "CmdTasks": DENIED, "CmdTickers": 3,
    "CmdTime": 1,
    # unloggedin
    "CmdUnconnectedConnect": NEVER, "CmdUnconnectedCreate": NEVER, "CmdUnconnectedEncoding": NEVER,
    "CmdUnconnectedHelp": NEVER, "CmdUnconnectedInfo": NEVER, "CmdUnconnectedLook": NEVER, "CmdUnconnectedQuit": NEVER,
    "CmdUnconnectedScreenreader": NEVER,
}  # fmt: skip
